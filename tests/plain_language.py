# ruff: noqa: SIM905 (lists of words are easier to read as texts)
"""Refuse names and first sentences that a stranger cannot read: ``python tests/plain_language.py [--list] [PATH...]``.

A name is a noun phrase for data and a verb phrase for functions; a docstring opens with an imperative or a noun phrase. Of each
kind of offence a small share is allowed, for the cases where the rule errs.
"""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

WORDS = set(
    "found,one,ones,own,left,told,kept,said,apart,seen,some,other,others,made,dealt,begun,known,given,more,most,many,much,few,"
    "fewer,less,least,each,every,both,all,any,none,nothing,everything,same,such,here,there,what,which,who,how,used,held,shown,"
    "wanted,drawn,taken,gone,meant,met,put,read,whole,these,those,them,they,its,their,theirs,mine,yours,this,that,it,so,asked,says,tells".split(
        ","
    )
)
"""Pronouns, quantifiers and bare participles. As names they say that there is a value, and not which."""
PREPOSITIONS = set(
    "of,by,in,on,at,with,without,for,per,beside,between,under,over,out,into,off,up,before,after,within".split(",")
)
PARTICIPLES = set(
    "fitted,expected,observed,weighted,converged,recovered,cached,shared,sorted,squared,centred,whitened,normalised,scaled,mixed,framed,"
    "planted,labelled,embedded,packed,mapped,restricted,partitioned,isolated,combined,embed,need,seed,speed,feed,shed".split(
        ","
    )
)
"""Words that end in -ed and may begin the name of a function or class: standard participles of statistics and algebra."""
FIRST = {"read", "put", "least", "most", "all", "any", "every", "each", "both", "more", "many", "few", "same"}
"""Words that may begin the name of a function, as in `least_squares`."""
CLAUSE = re.compile(r"(What|Whether|Of|How|Where|Which|Who|That|Those|These|Whose|When|Why)\b(?!.*\?)")
NEEDED = re.compile(r"(\b(is|are) needed|\bis none of\b[^.]*)\.?$")
LIMITS = {"name": 0.005, "definition": 0.01, "sentence": 0.01, "message": 0.01}
ROOT = Path(__file__).parents[1] / "src"


def first_word(name):
    """Return the first word of a name in snake or camel case, in small letters."""
    return re.split(r"_+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip("_")))[0].lower()


def offences(path):
    """Yield (kind, line, text, whether it offends) for all names, definitions, first sentences and messages of a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)) or isinstance(node, ast.arg):
            name = node.id if isinstance(node, ast.Name) else node.arg
            if not name.startswith("__"):
                yield "name", node.lineno, name, name.strip("_").lower() in WORDS
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            word = first_word(node.name)
            bad = word in PREPOSITIONS | WORDS - (
                FIRST if word != node.name.strip("_").lower() else {"read", "put", "all", "any"}
            )
            if not node.name.startswith("__"):
                yield "definition", node.lineno, node.name, bad or (word.endswith("ed") and word not in PARTICIPLES)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text:
                yield (
                    "sentence",
                    getattr(node, "lineno", 1),
                    text.split("\n")[0],
                    bool(CLAUSE.match(text.split("\n")[0])),
                )
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for part in (
                part for part in ast.walk(node.exc) if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ):
                yield "message", part.lineno, part.value, bool(NEEDED.search(part.value))


def main(arguments):
    """Print offences and their shares; return 1 where a share is above its limit."""
    paths = [Path(argument) for argument in arguments if argument != "--list"] or [ROOT]
    total, bad = defaultdict(int), defaultdict(int)
    for path in sorted(file for root in paths for file in ([root] if root.is_file() else root.rglob("*.py"))):
        for kind, line, text, offends in offences(path):
            total[kind] += 1
            bad[kind] += offends
            if offends and "--list" in arguments:
                print(f"{path}:{line}: {kind}: {text}")
    for kind, limit in LIMITS.items():
        share = bad[kind] / max(total[kind], 1)
        print(f"{kind}: {bad[kind]} of {total[kind]:,}, {share:.2%} (at most {limit:.1%})")
    return int(any(bad[kind] > limit * total[kind] for kind, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
