"""Texts like prose in a language, and fuzz in its script, for make.py: words of the script's letters with the affixes
that stemmers cut, stop words, articles, digits, apostrophes, marks, other scripts and supplementary characters."""
import random
import re
from pathlib import Path

STOP_WORDS = Path(__file__).parents[3] / "plugin/index_format/analysis/languages/stop_words"
LATIN = "abcdefghijklmnopqrstuvwxyz"
FREQUENT = "eeeeaaaaiiiooouunnnrrrsssttlldmcpkgbvh"
DEVANAGARI = "".join(map(chr, [*range(0x900, 0x964), *range(0x966, 0x980)]))
BENGALI = "".join(chr(c) for c in [*range(0x980, 0xA00)] if chr(c).isprintable())
ARABIC = "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةأإآءؤئ"
CYRILLIC = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
HAN = "".join(map(chr, range(0x4E00, 0x4F00))) + "中国文本索引搜尋語言日韩漢字㐀𠀀𠮷"
KANA = "".join(map(chr, [*range(0x3041, 0x3097), *range(0x30A1, 0x30FF)]))
HALF_WIDTH = "".join(map(chr, range(0xFF61, 0xFFA0))) + "ＡＢｃｄ１２！"
HANGUL = "한국어문서검색언어가나다라마바사아자차카타파하각" + "".join(map(chr, range(0x1100, 0x1110)))
THAI = "".join(map(chr, range(0x0E01, 0x0E3B))) + "เแโใไ็่้๊๋์ๆ๐๑๒"

# letters, prefixes, suffixes, articles
LANGUAGES = {
    "arabic": (ARABIC + ARABIC + "ـًٌٍَُِّْٰ٠١٢", "ال وال بال كال فال لل و ب ل", "ها ان ات ون ين يه ية ه ة ي ي ة ها", ""),
    "bengali": (BENGALI + "কখগঘঙচছজঝঞটঠডঢণতথদধনপফবভমযরলশষসহড়য়ািীুূৃেৈোৌ্্্ঁংঃ", "", None, ""),
    "chinese": (HAN, "", "", ""),
    "dutch": (FREQUENT + LATIN + "éëïèöüáíó", "ge be ver on", "heden heid lijk baar bar ing end ig en ene s se je etje tjes e aan "
              "uut eet oor iij kk dd tt ëen gemen isch", ""),
    "finnish": (FREQUENT + "äääöökkttppss" + LATIN, "", "kin kaan kään ko kö han hän pa pä sti nsa nsä ni si mme nne an än en "
                "ssa ssä sta stä lla llä lta ltä lle na nä ksi ine han hen hin hon hön seen siin tten den tta ttä a ä mpi "
                "mpa mpä mmi mma mmä impi impa impä immi imma immä eja ejä t i j in ia iä ita isiin aan ään uun yyn", ""),
    "french": (FREQUENT + LATIN + "éèêàâîïôûùçëœ", "re in", "issement issant ement ivement ficatrice ficateur catrice cateur "
               "atrice ateur trice ième teuse teur euse ère ive folle molle nnelle nnel ète ique esse inage isation isateur "
               "ation ition aux eaux x s ie er ee es ualisation r e nne lle", "l' L’ d' qu' Qu' jusqu' lorsqu’ c' m' t' s' j' "
               "n' puisqu' aujourd' quoiqu' x'"),
    "german": (FREQUENT + LATIN + "äöüßäöüß", "ge ver be", "ern em en er es e s est st ung heit ae oe ue aue que ßen eue", ""),
    "hindi": (DEVANAGARI + "कखगघचछजझटठडढणतथदधनपफबभमयरलवशषसहािीुूेैोौ्ंँ़", "", None, ""),
    "indonesian": (FREQUENT + "aaanngkktpb" + LATIN, "meng meny men mem me peng peny pen pem di ter ke ber bel be per pel pe be-er",
                   "kah lah pun ku mu nya kan an i si", ""),
    "italian": (FREQUENT + LATIN + "àèéìòùïöü", "", "e i a o ie he hi ii ia io ione mente", "l' L’ dell' all' un' c' d' quest' "
                "sull’ nell' dall' gl' v' t' m' s' Dell’ x'"),
    "japanese": (KANA + HAN, "", "ー", ""),
    "korean": (HANGUL, "", "", ""),
    "persian": (ARABIC + "پچژگکیکیۀہے" + "ٔـًَ۰۱۲", "می\u200c نمی\u200c ب", "ها های هایی \u200cها تر ترین ی م ت", ""),
    "portuguese": (FREQUENT + LATIN + "ãõçáéíóúâêôà", "", "es res ses les zes ns eis éis ais óis is ões ães mente s inha iaca eira "
                   "osa ica ida ada iva ama ona ora esa na a e o", ""),
    "russian": (CYRILLIC + CYRILLIC + "оеаин", "", "ив ивши ившись ыв ывши ывшись в вши вшись ее ие ые ое ими ыми ей ий ый ой ем "
                "им ым ом его ого ему ому их ых ую юю ая яя ою ею ем нн вш ющ щ ивш ывш ующ ся сь ла на ете йте ли й л ло но "
                "ет ют ны ть ешь нно ила ыла ена ейте уйте ите или ыли ей уй ил ыл им ым ен ило ыло ено ят ует уют ит ыт ены "
                "ить ыть ишь ую ю а ев ов ье и ией ь ию ью ия ья я ост ость ейш ейше нн ё", ""),
    "simple": (LATIN + "äöüÉß" + CYRILLIC, "", "er s 1 _", "l' d'"),
    "spanish": (FREQUENT + LATIN + "áéíóúñüàèìòùâêîôû", "", "o a e os as es eses ces s ciones mente", ""),
    "swedish": (FREQUENT + LATIN + "åäöéåäö", "", "a arna erna heterna orna ad e ade ande arne are aste en anden aren heten ern ar er "
                "heter or as arnas ernas ornas es ades andes ens arens hetens erns at andet het ast s dd gd nn dt gt kt tt lig "
                "ig els fullt löst öst lig", ""),
    "thai": (THAI, "", "", ""),
    "turkish": (FREQUENT + "ıışşğğççööüü" + LATIN, "", "lar ler lık lik ım im um üm sın sin sun sün dır dir dur dür tır tir yım "
                "yız sınız casına cesine ydı ydi dı di du dü tı ti ysa yse sa se ymış ymiş mış miş muş müş yken larım lerim "
                "ımız imiz ınız iniz ı i u ü sı si su sü nın nin nun nün ın in na ne ya ye a e da de ta te nda nde dan den "
                "tan ten ndan nden la le yla yle ca ce ncu ki daki deki b c d ğ ap aç at ak ad soyad", "'nin ’in 'da ’ye"),
}
MARKS = "\u0300\u0301\u0307\u0308\u030A\u0323\u0327\u0328\u200C\u200D\u00AD\u2060"
SUPPLEMENTARY = "𝐚𝐛𝟎𝟗𐐀𐐨😀👩\u200D🚀🇩🇪𠮷𞤀"
APOSTROPHES = "'’＇ʼ`´"
PUNCTUATION = ".,;:!?-_/()[]«»„“”…–—·&@#%+*=،؛؟।॥、。・「」"
DIGITS = "0123456789٠١٢٣۰۱۲०१२०৯০১๐๑０１２"


class Writer:
    def __init__(self, language, seed, vocabulary=()):
        self.random = random.Random(f"{seed} {language}")
        self.language = language
        letters, prefixes, suffixes, articles = LANGUAGES[language]
        self.letters = letters
        self.prefixes = prefixes.split()
        self.suffixes = self._endings() if suffixes is None else suffixes.split()
        self.articles = articles.split()
        path = STOP_WORDS / f"{'chinese' if language == 'korean' else language}.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ["the", "and"]
        self.stop_words = [line for line in lines if not line.startswith("#")]
        self.vocabulary = list(vocabulary)

    def _endings(self):
        """The endings of a table of C++ strings: those of Hindi and Bengali."""
        source = (STOP_WORDS.parent / "indic.cpp").read_text(encoding="utf-8")
        table = source.split(f"k{self.language.capitalize()}Endings[]")[1].split("};")[0]
        return re.findall(r'u"([^"]+)"', table)

    def letter(self):
        return self.random.choice(self.letters)

    def stem(self):
        return "".join(self.letter() for _ in range(self.random.choice((0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 9))))

    def cased(self, word):
        chance = self.random.random()
        if chance < 0.75:
            return word
        if chance < 0.9:
            return word[:1].upper() + word[1:]
        return word.upper() if chance < 0.97 else "".join(self.random.choice((c, c.upper())) for c in word)

    def word(self):
        random = self.random
        chance = random.random()
        if chance < 0.12:
            return self.cased(random.choice(self.stop_words))
        if self.vocabulary and chance < 0.5:
            return self.cased(random.choice(self.vocabulary))
        word = self.stem()
        if self.prefixes and random.random() < 0.3:
            word = random.choice(self.prefixes) + word
        if self.prefixes and random.random() < 0.1:
            word = random.choice(self.prefixes) + word
        for likely in (0.6, 0.3, 0.1):
            if self.suffixes and random.random() < likely:
                word += random.choice(self.suffixes)
        if self.articles and random.random() < 0.12:
            article = random.choice(self.articles)
            word = word + article if article[0] in "'’" else article + word
        return self.cased(word)

    def odd_word(self):
        """A word with something that does not belong into it."""
        random = self.random
        other = random.choice((LATIN, CYRILLIC, HAN, KANA, HANGUL, HALF_WIDTH, THAI, DEVANAGARI, BENGALI, ARABIC, SUPPLEMENTARY,
                               MARKS, MARKS, APOSTROPHES, APOSTROPHES, PUNCTUATION, DIGITS, DIGITS, "İIıſKÅßẞÆæœŒﬁ"))
        word = self.word()
        for _ in range(random.choice((1, 1, 2, 4))):
            place = random.randint(0, len(word))
            word = word[:place] + random.choice(other) + word[place:]
        return word

    def text(self):
        random = self.random
        kind = random.random()
        if kind < 0.45:  # prose
            parts = [self.word() for _ in range(random.randint(3, 14))]
            return " ".join(p + (random.choice(",.;:!?") if random.random() < 0.15 else "") for p in parts)
        if kind < 0.85:  # with odd words
            return " ".join(self.odd_word() if random.random() < 0.4 else self.word() for _ in range(random.randint(1, 10)))
        if kind < 0.95:  # without blanks
            return "".join(random.choice((self.word(), random.choice(PUNCTUATION), random.choice(DIGITS),
                                          random.choice(APOSTROPHES), random.choice(SUPPLEMENTARY), random.choice(MARKS)))
                           for _ in range(random.randint(1, 9)))
        return "".join(self.letter() for _ in range(random.choice((1, 2, 30, 254, 255, 256, 257, 300))))
