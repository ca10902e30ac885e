"""What users say that holds from then on, and what only looks like it, in ten languages.

The sentences were written before the rules. `HELD_OUT` was not looked at while they were.
"""

STANDING = {
    "English": [
        "Answer in French.",
        "I am allergic to peanuts.",
        "Always run the tests before you commit.",
        "Never use tabs, e.g. in Python files.",
        "From now on keep your answers short.",
        "Don't use emojis.",
        "Please call me Sam.",
        "I prefer metric units.",
        "I'm vegetarian.",
        "My name is Ada Lovelace.",
        "Whenever you show code, explain it in one sentence.",
        "Please reply in German from now on.",
        "Keep it short and skip the introductions.",
    ],
    "Chinese": ["请始终用中文回答。", "以后不要使用表情符号。", "我对花生过敏。"],
    "Spanish": [
        "Responde siempre en español.",
        "Nunca uses tablas en tus respuestas.",
        "Soy alérgica a los frutos secos.",
    ],
    "Arabic": ["أجب دائمًا باللغة العربية.", "من الآن فصاعدًا اختصر إجاباتك.", "أنا نباتي."],
    "Portuguese": [
        "A partir de agora, responda em português.",
        "Nunca use emojis.",
        "Prefiro respostas curtas.",
    ],
    "French": [
        "Réponds toujours en français.",
        "Tutoie-moi, s'il te plaît.",
        "Je suis allergique au gluten.",
    ],
    "German": [
        "Antworte bitte immer auf Deutsch.",
        "Ab jetzt keine Tabellen mehr, z. B. in Listen.",
        "Ich bin Vegetarierin.",
    ],
    "Russian": ["Всегда отвечай на русском.", "Больше не используй эмодзи.", "Меня зовут Анна."],
    "Japanese": ["これからは日本語で答えてください。", "絵文字は使わないでください。"],
    "Hindi": ["हमेशा हिंदी में जवाब दें।", "मुझे मूंगफली से एलर्जी है।"],
}

# Questions, quotes, one-off requests, and reports with the words of instructions.
PASSING = {
    "English": [
        "Is it always this slow?",
        "Answer this question: what is the capital of France?",
        "Why does he never call?",
        'The sign says "Never feed the birds" in red.',
        "I have always liked trains.",
        "Translate the text into French.",
        "How do I say that in German?",
        "It has never worked, and it always fails in the last step.",
        "Do not change the second paragraph.",
        "I am reading a book about France.",
    ],
    "Chinese": [
        "这个总是失败吗？",
        "把这段话翻译成法语。",
        "他从来不打电话。",
        "她说“请始终用中文回答”。",
    ],
    "Spanish": [
        "¿Siempre tarda tanto?",
        "Traduce el texto al francés.",
        "Siempre me ha gustado el tren.",
        "El cartel dice «Nunca des de comer a las palomas».",
    ],
    "Arabic": ["هل هو بطيء دائمًا؟", "ترجم النص إلى الفرنسية.", "كان القطار يتأخر دائمًا."],
    "Portuguese": [
        "Isso é sempre tão lento?",
        "Traduza o texto para o francês.",
        "O trem sempre atrasa.",
    ],
    "French": [
        "Est-ce toujours aussi lent ?",
        "Traduis le texte en allemand.",
        "Le train est toujours en retard.",
        "Il a écrit « Réponds toujours en français ».",
    ],
    "German": [
        "Ist das immer so langsam?",
        "Übersetze den Text ins Französische.",
        "Der Zug kommt immer zu spät.",
        "Auf dem Schild steht: „Tauben nie füttern“.",
    ],
    "Russian": [
        "Это всегда так медленно?",
        "Переведи текст на французский.",
        "Поезд всегда опаздывает.",
    ],
    "Japanese": [
        "いつもこんなに遅いですか？",
        "この文章をフランス語に訳してください。",
        "電車はいつも遅れる。",
        "彼は「必ず日本語で答えてください」と書いた。",
    ],
    "Hindi": [
        "क्या यह हमेशा इतना धीमा है?",
        "इस पाठ का फ़्रेंच में अनुवाद करें।",
        "ट्रेन हमेशा देर से आती है।",
    ],
}

HELD_OUT = {
    "English": [
        "Write all your replies in Italian.",
        "I'm a beginner in Python.",
        "Use British spelling.",
        "Stop apologising.",
        "I can't eat shellfish.",
    ],
    "Chinese": ["从现在起请用英文回复。", "永远不要道歉。", "我是素食主义者。"],
    "Spanish": ["De ahora en adelante, sé breve.", "Me llamo Carlos.", "No uses emojis."],
    "Arabic": ["لا تستخدم الرموز التعبيرية أبدًا.", "اسمي ليلى.", "أفضّل الإجابات القصيرة."],
    "Portuguese": ["Responda sempre em inglês.", "Sou alérgico a camarão.", "Meu nome é João."],
    "French": ["N'utilise jamais d'emojis.", "Désormais, sois bref.", "Je m'appelle Chloé."],
    "German": [
        "Duze mich bitte.",
        "Verwende nie Emojis.",
        "Ich bin allergisch gegen Nüsse.",
    ],
    "Russian": ["Отныне пиши кратко.", "У меня аллергия на орехи.", "Никогда не извиняйся."],
    "Japanese": ["常に敬語を使ってください。", "私はベジタリアンです。", "今後は短く答えて。"],
    "Hindi": ["अब से छोटे जवाब दें।", "मेरा नाम रवि है।", "इमोजी का उपयोग कभी न करें।"],
}
HELD_OUT_PASSING = [
    "Write a poem in Italian.",
    "Can you use the British spelling of this word?",
    "I always get this error when I start it.",
    "他永远不会回来。",
    "这辆车以后多少钱？",
    "Nunca he visto eso.",
    "No uses la caché en esta función.",
    "لم أر ذلك أبدًا.",
    "Nunca vi isso.",
    "Je n'ai jamais vu ça.",
    "Réponds à cette question en deux phrases.",
    "Ich habe das nie gesehen.",
    "Schreib mir ein Gedicht auf Italienisch.",
    "Я никогда этого не видел.",
    "Напиши стихотворение на итальянском.",
    "今後の予定を教えてください。",
    "この関数を短くしてください。",
    "मैंने यह कभी नहीं देखा।",
    "इस प्रश्न का उत्तर दें।",
]
