"""The language of a text, of the ten that the rules know."""

from collections import Counter

from agent.audit.facts.words import find_words

OPENING = 600  # characters of a text that are looked at
LEAST_STOP_WORDS = 2  # by which it shows its language
LATIN = "latin"
# By letters: the first and the last of a script, or of those that only one language has in it.
_SCRIPTS = (
    ("ja", "\u3040", "\u30ff"),
    ("zh", "\u3400", "\u9fff"),
    ("hi", "\u0900", "\u097f"),
    ("ar", "\u0600", "\u06ff"),
    ("ru", "\u0400", "\u04ff"),
)
# What other languages write in the same scripts: Persian and Urdu, Ukrainian and Serbian, Marathi.
_OTHERS = frozenset("پچژگکیےڑٹڈںіїєґјљњћђџўळ")
_STOP_WORDS = {
    "en": "the and is are was of to for it that this with you what how can have do does please we "
    "my be not i has had will by from at their they he she his her only",
    "es": "el los las y es son fue del para que con una por está cómo qué puedo tengo se mi lo en "
    "más pero al",
    "pt": "o os as e é são foi do da dos das para que com uma um por está como não eu meu minha se "
    "em na no mais mas",
    "fr": "le les et est sont du des pour que qui avec une un par dans comment je mon ma ne pas ce "
    "cette sur au vous il",
    "de": "der die das und ist sind war den dem des für dass mit ein eine nicht ich wie was kann "
    "wir es auf zu im bitte mein von",
    "": "il gli di è che per non con una sono della het een van en dat niet voor je og det att som "
    "och är jag på nie jest się na że w ve bir bu için ile și nu sunt este care",
}
_WORDS = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}


def find_language(text: str) -> str:
    """The code of the language that a text is in, by its script, or by its small words: "" where
    they do not tell, "other" for none of the ten."""
    language = _find_main_script(text)
    if language != LATIN:
        others = language in ("ar", "ru", "hi") and not _OTHERS.isdisjoint(text[:OPENING].lower())
        return "other" if others else language
    words = find_words(text[:OPENING])
    found = {code: sum(word in known for word in words) for code, known in _WORDS.items()}
    best = max(found, key=lambda code: found[code])
    rivals = [code for code in found if found[code] == found[best]]
    if found[best] < LEAST_STOP_WORDS or len(rivals) > 1:
        return ""
    return best or "other"


def are_in_one_language(text: str, other: str) -> bool:
    """Whether two texts are, as far as they show it."""
    languages = {find_language(text), find_language(other)} - {""}
    return len(languages) < 2 and are_in_one_script(text, other)


def are_in_one_script(text: str, other: str) -> bool:
    """Whether most letters of two texts are."""
    return _find_main_script(text) == _find_main_script(other)


def _find_main_script(text: str) -> str:
    """The script of most letters, "" where there is none. Japanese is known by its own."""
    letters = (letter for letter in text[:OPENING].lower() if letter.isalpha())
    scripts = Counter(map(_find_script, letters))
    most = max(scripts, key=scripts.__getitem__, default="")
    return "ja" if most == "zh" and scripts["ja"] else most


def _find_script(letter: str) -> str:
    if letter < "\u0250":
        return LATIN
    return next((code for code, first, last in _SCRIPTS if first <= letter <= last), "other")
