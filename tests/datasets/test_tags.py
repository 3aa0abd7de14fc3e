import pytest

from latentia.datasets.readers import split_tags


@pytest.mark.parametrize(
    "cells",
    [
        ["art; war ;", "", "peace;art"],
        ["art, war", " ", "peace,art,art"],
        ["art|war", "", "peace|art"],
        ['["art", "war"]', "[]", '["peace", "art"]'],
        ["['art', 'war']", "", "['peace', 'art']"],
        ["('art', 'war')", "()", "('peace', 'art')"],
        ["[art, war]", "[]", "[peace, art]"],
        ["['art' 'war']", "[]", "['peace' 'art']"],
        ["<art><war>", "", "<peace><art>"],
    ],
)
def test_every_way_to_write_tags(cells):
    assert split_tags(cells) == [["art", "war"], [], ["peace", "art"]]


def test_commas_in_tags_that_something_else_separates():
    assert split_tags(["ships, old;sea", "sea;art", "art"]) == [["ships, old", "sea"], ["sea", "art"], ["art"]]


def test_cells_without_any_tag():
    assert split_tags(["", " "]) == [[], []]
    assert split_tags([]) == []
