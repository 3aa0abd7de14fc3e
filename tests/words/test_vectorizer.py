"""What is a word, which words are left out, and texts whose words cannot be told apart."""

import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline

from latentia import LatentiaError
from latentia.datasets import Texts
from latentia.exceptions import MissingExtraError
from latentia.words import WordVectorizer, check_texts, languages, stop_words, texts_of
from latentia.words.vectorizer import _make_lemmatizer


def words(text, language=None, **parameters):
    return WordVectorizer(language, **parameters).build_analyzer()(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Cat SAT on it", ["the", "cat", "sat"]),
        ("The U.S. and U.K.-based", ["the", "u.s.", "and", "u.k.", "based"]),
        ("J.R.R. Tolkien. The end.", ["j.r.r.", "tolkien", "the", "end"]),
        ("node.a.b cs.cmu.edu", ["node", "cmu", "edu"]),
        ("COVID-19 and Sars-CoV-2, an F-16", ["covid-19", "and", "sars", "cov-2", "f-16"]),
        ("b2b mp3 g20 the 1990s 20th h1n1", ["b2b", "mp3", "g20", "the", "1990s", "20th", "h1n1"]),
        ("2020 12,000 3.14 -12 2020-21 1'000", []),
        ("don't O\u2019Brien d'ye", ["don't", "o'brien", "d'ye"]),
        ("it's Obama's dogs' 'quoted' rock'n'roll", ["obama", "dogs", "quoted", "rock'n'roll"]),
        ("i'm we'll he'd", ["we'll", "he'd"]),
        ("_emphasis_ snake_case", ["emphasis", "snake_case"]),
        ("well-known", ["well", "known"]),
        ("naïve cafe\u0301 caf\u00e9 co\u00adoperate", ["naïve", "café", "café", "cooperate"]),
        ("किताब हिन्दी", ["किताब", "हिन्दी"]),
        ("경제 성장 나", ["경제", "성장"]),
        ("经济 增长 人", ["经济", "增长"]),
        ("п\u2019ять", ["п'ять"]),
        ("می\u200cروم", ["می\u200cروم"]),
        ("", []),
        ("'' ' - . _ ...", []),
    ],
)
def test_what_a_word_is(text, found):
    assert words(text) == found


def test_articles_are_cut_from_nouns():
    assert words("L\u2019homme n'est pas à l'école aujourd'hui", "french") == ["homme", "école"]
    assert words("L'albero dell'isola", "it") == ["albero", "isola"]
    assert words("l'homme") == ["l'homme"]


def test_turkish_has_two_kinds_of_i():
    assert words("I\u015eIK \u0130stanbul", "turkish") == ["\u0131\u015f\u0131k", "istanbul"]


def test_stop_words_of_languages():
    assert stop_words("english") > ENGLISH_STOP_WORDS
    assert {"don't", "we'll", "isn't"} < stop_words("en")
    assert {"und", "nicht"} < stop_words("german") == stop_words("de")
    assert len(languages()) > 50
    assert all(stop_words(language) for language in languages())
    assert words("Der Hund und die Katze", "german") == ["hund", "katze"]
    assert words("the dog und die Katze", ["english", "german"]) == ["dog", "katze"]
    assert words("the dog") == ["the", "dog"]


@pytest.mark.filterwarnings("error")
def test_stop_words_are_such_as_are_counted():
    for language in languages():
        words("word", language)  # scikit-learn warns of others


def test_more_stop_words():
    assert words("The dog's O'Brien ran", "en", stop_words=["Dogs", "DOG", "o\u2019brien"]) == ["ran"]
    assert words("the dog ran", stop_words=["dog"]) == ["the", "ran"]


def test_default_frequencies_adapt_to_the_corpus():
    few = WordVectorizer().fit(["apple pear", "apple wolf"])
    assert set(few.vocabulary_) == {"apple", "pear", "wolf"}
    some = WordVectorizer().fit(["apple pear", "apple wolf"] * 10 + ["apple single"])
    assert set(some.vocabulary_) == {"apple", "pear", "wolf"}
    more = WordVectorizer().fit(["apple pear", "apple wolf"] * 100)
    assert set(more.vocabulary_) == {"pear", "wolf"}
    given = WordVectorizer(min_df=1, max_df=1.0).fit(["apple pear", "apple wolf"] * 100 + ["single"])
    assert set(given.vocabulary_) == {"apple", "pear", "wolf", "single"}


def test_it_does_what_scikit_learn_expects():
    texts = ["red apple", "red pear", "blue pear"]
    vectorizer = WordVectorizer("de", stop_words=["blue"], ngram_range=(1, 2))
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    assert vectorizer.fit(texts) is vectorizer
    assert vectorizer.get_feature_names_out().tolist() == ["apple", "pear", "red", "red apple", "red pear"]
    again = pickle.loads(pickle.dumps(vectorizer))
    assert (again.transform(texts) != vectorizer.fit_transform(texts)).nnz == 0
    assert vectorizer.transform(["pear pear"]).toarray().tolist() == [[0, 2, 0, 0, 0]]
    for parameters in ParameterGrid({"wordvectorizer__min_df": [1, 2], "wordvectorizer__language": [None, "en"]}):
        make_pipeline(WordVectorizer()).set_params(**parameters).fit(texts)
    fixed = WordVectorizer(vocabulary=["pear", "apple"])
    assert fixed.transform(texts).toarray().tolist() == [[0, 1], [1, 0], [1, 0]]
    assert isinstance(vectorizer, CountVectorizer)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"language": "germn"}, "did you mean 'german'"),
        ({"language": 3}, "name of a language"),
        ({"language": ["en", "klingon"]}, "There are stop words of"),
        ({"stop_words": "english"}, "sequence of words"),
        ({"min_df": 2.5}, "min_df=2.5"),
        ({"max_df": True}, "max_df=True"),
        ({"max_features": 0}, "max_features=0"),
        ({"ngram_range": (2, 1)}, "smaller one first"),
        ({"ngram_range": 2}, "ngram_range=2"),
        ({"vocabulary": "abc"}, "vocabulary='abc'"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(LatentiaError, match=message) as error:
        WordVectorizer(**parameters).fit(["some text"])
    assert error.value.parameter in parameters


def test_no_words_left():
    with pytest.raises(LatentiaError, match="no words remain of 2 texts"):
        WordVectorizer().fit(["the", "of and"])


# --- scripts without blanks ---------------------------------------------------------------------------------------

WITHOUT_BLANKS = {
    "Chinese": "今天天气很好,我们去公园散步。经济增长放缓,政府出台新政策。",
    "a Chinese title": "北京大学",
    "Japanese": "私は昨日東京へ行きました。天気がとても良かったです。",
    "Thai": "วันนี้อากาศดีมาก เราไปเดินเล่นในสวนสาธารณะกัน",
    "Khmer": "ថ្ងៃនេះអាកាសធាតុល្អណាស់ យើងទៅដើរលេងនៅសួន",
    "Lao": "ມື້ນີ້ອາກາດດີຫຼາຍ ພວກເຮົາໄປຍ່າງຫຼິ້ນໃນສວນ",
    "Burmese": "ယနေ့ရာသီဥတုကောင်းသည်။ ကျွန်ုပ်တို့သည်ပန်းခြံသို့လမ်းလျှောက်သွားကြသည်",
}
WITH_BLANKS = {
    "Chinese": "今天 天气 很 好 我们 去 公园 散步 经济 增长 放缓 政府 出台 新 政策",
    "Japanese": "私 は 昨日 東京 へ 行き まし た 天気 が とても 良かっ た です",
    "Thai": "วันนี้ อากาศ ดี มาก เรา ไป เดินเล่น ใน สวน สาธารณะ กัน",
    "Korean": "오늘 날씨가 매우 좋습니다 우리는 공원에 갑니다",
    "a name in English": "The president Xi 习近平总书记 met the minister of trade in Beijing yesterday",
}


@pytest.mark.parametrize("text", WITHOUT_BLANKS.values(), ids=WITHOUT_BLANKS)
def test_texts_without_blanks_are_refused_with_advice(text):
    with pytest.raises(LatentiaError, match="Segment them by vectorizer=WordVectorizer"):
        WordVectorizer(None).fit([text] * 3)
    fitted = WordVectorizer(None).fit(["some words", "other words"])
    with pytest.raises(LatentiaError, match="Segment them by"):
        fitted.transform([text])


@pytest.mark.parametrize("text", WITH_BLANKS.values(), ids=WITH_BLANKS)
def test_texts_whose_words_are_apart_pass(text):
    assert len(WordVectorizer(None).fit([text] * 3).vocabulary_) > 4


# --- what counts as texts -------------------------------------------------------------------------------------------

TEXTS = ["one text", "another", ""]


def test_forms_of_texts():
    pandas = pytest.importorskip("pandas")
    forms = [
        TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object), Texts(TEXTS, ["a", "b", "c"], "here"),
        pandas.Series(TEXTS, index=[5, 6, 7]), pandas.Series(TEXTS, dtype="string"), pandas.Series(TEXTS, dtype="category"),
    ]  # fmt: skip
    assert all(texts_of(form) == TEXTS for form in forms)


def test_tables_are_no_texts():
    pandas = pytest.importorskip("pandas")
    tables = [[[1, 2], [3, 4]], np.eye(3), np.arange(3), [1, 2], [], None, pandas.DataFrame(np.eye(2)), object(), [None],
              np.array([["a", "b"]])]  # fmt: skip
    assert all(texts_of(table) is None for table in tables)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("one text", "got a single text, 'one text'"),
        ([["red", "apple"], ["pear"]], "lists of words"),
        (["one", None], "Text 1 is missing"),
        ([None, float("nan"), "one"], "Text 0 is missing, and 1 more are not texts"),
        (["one", 5], "Text 1 is 5, a int"),
        ([b"one"], "Decode them first"),
        (iter(["one"]), "can be read only once"),
    ],
)
def test_what_is_nearly_texts_is_refused(wrong, message):
    with pytest.raises(LatentiaError, match=message):
        texts_of(wrong)


def test_a_table_of_one_column_names_the_column():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(LatentiaError, match=r"table\['body'\]"):
        texts_of(pandas.DataFrame({"body": TEXTS}))


def test_no_texts():
    with pytest.raises(LatentiaError, match="Expected texts"):
        check_texts([])


def test_other_languages_need_a_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    sys.modules["latentia.words.stop_words"]._words.cache_clear()
    with pytest.raises(MissingExtraError, match="pip install stopwordsiso"):
        WordVectorizer("german").fit(["ein Text"])
    assert "the" in stop_words("english")


def test_lemmas_and_segments_by_other_packages(monkeypatch):
    forms = {"houses": "house", "houses'": "house", "paris": "Paris", "went": "go by"}

    def lemmatize(word, lang):
        if "zh" in lang:
            raise ValueError("Unsupported language: zh")
        return forms.get(word, word)

    _make_lemmatizer.cache_clear()
    monkeypatch.setitem(sys.modules, "simplemma", SimpleNamespace(lemmatize=lemmatize))
    assert words("Houses, houses in Paris went b2b", "english", lemmas=True) == [
        "house",
        "house",
        "paris",
        "went",
        "b2b",
    ]
    with pytest.raises(LatentiaError, match="no lemmas for these languages"):
        words("a", "chinese", lemmas=True, stop_words=["a"])
    _make_lemmatizer.cache_clear()

    def pairs(text, locale):
        return [text[i : i + 2] for i in range(0, len(text), 2)]

    monkeypatch.setitem(sys.modules, "icu4py", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "icu4py.breakers", SimpleNamespace(WordBreaker=pairs))
    texts = ["\u4eca\u5929\u5929\u6c14\u516c\u56ed and rain", "\u516c\u56ed\u4eca\u5929"]
    vectorizer = WordVectorizer(None, segment=True)
    assert vectorizer.fit_transform(texts).shape == (2, 5)
    assert "\u516c\u56ed" in vectorizer.vocabulary_


def test_missing_packages_are_named(monkeypatch):
    for package, option in (("simplemma", "lemmas"), ("icu4py.breakers", "segment")):
        _make_lemmatizer.cache_clear()
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match="text"):
            words("a house", **{option: True})
