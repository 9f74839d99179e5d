import { cutBytes } from "../text/cut.ts";
import { writtenText } from "../text/written-text.ts";

/** Words between a verb and its statement that do not change the statement. */
const adverbs = `(?:(?:${[
  "very|quite|fully|totally|completely|entirely|absolutely|really|actually|just|simply|clearly|obviously|perfectly|definitely",
  "certainly|indeed|also|both|still|rather|pretty|in fact|here|so|exactly|even|all|of course|done|made|kept|left|written|set",
  "that way|this way|like (?:this|that)|most likely|always|ganz|genau|auch|doch|ja|hier|durchaus|absolut|vollkommen|wirklich",
  "natürlich|bewusst|eindeutig|schon|völlig",
].join("|")}) )*`;
const be =
  "(?:(?:\\b(?:is|are|was|were|be|being|remains?|stays?|looks?|seems?|sounds?|ist|sind|war|waren|bleibt)|'s|'re) )";
/** Says it about the finding: after a verb, or at the beginning, if only the end of a remark follows. */
const aside =
  "(?= ?$| (?:here|there|by|and|or|in|on|at|per|too|as well|though|that|this|thanks|behaviou?r|imo|hier|so)\\b)";
const wrong = "(?:bug|issue|problem|defect|fault|vulnerability|concern|error)";
const verb = "(?:fix(?:ing)?|address(?:ing)?|chang(?:e|ing) (?:this|it|that))";

/** Each one says by itself that a finding stays as it is, unless words before it take that back. */
const dismissals: readonly RegExp[] = [
  // intended
  `(?:^${adverbs}(?:intended|intentional|deliberate|gewollt|beabsichtigt|absicht|absichtlich)${aside})`,
  `${be}${adverbs}(?:intended|intentional|deliberate|gewollt|beabsichtigt|absicht|absichtlich|gewünscht)\\b(?! (?:to|for|as|only|use|um|für|als)\\b)`,
  `${be}${adverbs}(?:(?:the|an?|our|its|my) )?(?:intended|intentional|deliberate|desired|expected) (?:behaviou?r|design|choice|decision|change|semantics|outcome|trade-?off|restriction|limitation|simplification)\\b`,
  `^(?:the )?(?:intended|intentional|deliberate|desired|expected) (?:behaviou?r|design|choice|decision|change|trade-?off|limitation)(?: here)?$`,
  `^(?:i|we|this|that|it|ich|wir)(?:'s|'re|'ve| is| are| was| have| did| habe| haben)? ${adverbs}(?:intentionally|deliberately|purposely|purposefully|absichtlich)\\b`,
  `${be}${adverbs}(?:intentionally|deliberately|purposely|absichtlich|bewusst so|extra so)\\b`,
  `^(?:this|that|it)(?:'s| is| was) ${adverbs}expected${aside}`,
  `\\b(?:how|the way|what) (?:it|this|that)(?:'s| is) (?:supposed|meant) to (?:work|be|behave|do)\\b|^(?:das|dies|es) soll (?:hier |genau )?so sein$`,
  `\\b(?:on purpose|by design|mit absicht|per design)\\b(?!-| (?:patterns?|reviews?|docs?|documents?|teams?|systems?|tokens?)\\b)`,
  `\\b(?:works?|working|behaves?|behaving|functions?|functioning|funktioniert|verhält sich) ${adverbs}(?:as|like|wie) (?:it (?:is|was) )?(?:intended|designed|expected|specified|documented|it should|gewollt|beabsichtigt|vorgesehen|gedacht|erwartet)\\b(?!.* (?:now|again|jetzt|wieder)\\b)`,
  `^${adverbs}as (?:intended|designed)(?: here)?$`,
  // not a fault
  `(?:^|${be}|\\b(?:as|this|that|it|think|call it|like) )${adverbs}(?:(?:an?|another|one more|ein|eindeutig ein) )?(?:(?:clear|obvious|classic|plain|known|definite) )*(?:false[ -]positive|false alarm|fehlalarm)\\b(?! (?:rate|result|match|count|when)\\b)`,
  `(?:\\bnot|\\b(?:isn|aren|wasn|weren|ain)'t) (?:really |actually |in fact |here |exactly )*(?:an? |any )?(?:(?:real|actual|valid|true|genuine|serious) )*${wrong}\\b(?!-| (?:fix|report|yet|until|only|handling|message)\\b|.* (?:any ?more|any longer|now)\\b)`,
  `(?:^|${be}|there's )${adverbs}no (?:real |actual )?(?:bug|issue|problem)(?: at all)? (?:here|in this|with this|with that)\\b`,
  `^(?:there is|there's) no (?:real |actual )?(?:bug|issue|problem)$|^no bug$`,
  `(?:don't|do not) (?:think|believe) (?:that )?(?:this|that|it)(?:'s| is| was) ${adverbs}an? (?:real |actual )?${wrong}\\b(?! (?:fix|report))`,
  `(?:^${adverbs}kein (?:fehler|bug)\\b|${be}${adverbs}keine? (?:echter |echtes |wirklicher |wirkliches )?(?:fehler|bug|problem|lücke|schwachstelle)\\b)`,
  // will not be fixed
  `\\bwont-?fix\\b|\\bwon'tfix\\b`,
  `(?:^|\\b(?:i|we) |\\b(?:i|we)(?:'m|'re| am| are) )${adverbs}(?:won't|wont|will not|will never|not going to|don't (?:want|plan|intend) to|do not (?:want|plan|intend) to|not) (?:be )?${verb}\\b`,
  `^(?:(?:marked|marking|closing|closed)(?: this| it)? as |status |resolution )won't fix\\b`,
  `(?:\\b(?:this|that|it|bug|issue|problem|finding)(?: will not| won't| is not going to| isn't going to|'s not going to)|^(?:will not|won't|not going to)) be (?:fixed|changed|addressed)\\b`,
  `\\bwird (?:\\w+ )?nicht (?:mehr )?(?:behoben|gefixt|geändert|korrigiert)\\b`,
  `\\b(?:beheb|änder|fix|korrigier)\\w* (?:ich|wir) (?:das |es )?nicht\\b`,
  `^(?:(?:i'll|we'll|let's|please|i|we) )?(?:leave|leaving|keep|keeping) (?:this |it |that )?as(?: it)? is\\b`,
  `^(?:das|es|this|it|that) (?:bleibt (?:hier )?so|stays (?:as it is|as is|this way|that way))\\b`,
  // accepted
  `(?:${be}${adverbs}(?:an? |the |our |eine |ein )?|^)(?:known|accepted|acceptable|documented|bekannte) (?:\\w+ ){0,3}(?:limitation|risk|trade-?off|restriction|einschränkung)\\b(?!.* (?:is|are|was|causes?|makes?) )`,
  `^we (?:can )?accept (?:this|that|it)(?: risk| limitation| here| for now)?$|^(?:i|we) (?:can )?accept (?:the|this|that) risk\\b|^(?:the )?risk (?:is |was )?accepted\\b`,
  `^(?:(?:please|you can|you may|just|feel free to|let's|i'd|i would|i'll|i will|i'm going to|i am going to|we'll|we will|we can|let us) )*(?:ignore|dismiss) (?:this|it|that)(?: (?:one|finding|comment|warning|here|please|for now))*$`,
  `^(?:(?:this|it|that) )?(?:(?:is |'s )?safe to ignore|can (?:safely )?be (?:ignored|dismissed))(?: here)?$|^(?:i'm |i am |we're )?(?:dismiss|dismissed|dismissing|ignoring)(?: (?:this|it|that))?(?: (?:one|finding|comment))?$`,
  `^(?:bitte )?(?:das |dies )?(?:bitte )?ignorier(?:en|e|t)(?: (?:das|dies|bitte))*$`,
].map((pattern) => new RegExp(pattern));

/** Before such words in the same clause, these deny, doubt or wish them, or attribute them to someone else. */
const takenBack = new RegExp(
  `\\b(?:${[
    "not|no|never|cannot|hardly|neither|nor|nobody|none|nothing|without|doubt|doubts|unsure|unclear|uncertain|disagree|wrong",
    "thought|maybe|perhaps|might|may|could|would|should|probably|possibly|supposed|used to|claims?|claimed|said|says?|told|pretends?",
    "anything but|all but|far from|less|instead of|rather than|no longer|confirm|make sure|ensure|(?:please|to|you|should|must|double) check|check that|verify|clarify|explain|prove",
    "convinced?|why|what|previous(?:ly)?|originally|old|before|breaks?|rest|else|others?|otherwise|now|again|nearly|almost|partly|partially|only",
    "nicht|keine?[nmrs]?|nie|niemals|kaum|vielleicht|wohl|angeblich|eigentlich|bezweifle|zweifle|sollte|könnte|wäre|jetzt|wieder",
  ].join("|")})\\b|n't\\b`,
);

/** The same after them. */
const takenBackLater = /\b(?:but not|not anymore|not any more|or is it)\b/;

const openings =
  /^(?:(?:yes|yeah|yep|nope|nah|ok|okay|well|hm+|sorry|thanks|thank you|hi|hey|hello|actually|honestly|again|imo|imho|afaik|fyi|and|but|so|because|since|also|still|then|true|right|correct|agreed|indeed|ja|nein|doch|also|und|aber|weil|i (?:already )?said|i've already said|as (?:i )?said|i'd say|i would say|i can confirm|we can confirm|i think|we think|i believe|note that|please note|no(?= (?:this|it|that|we|i)\b))(?: that)? )+/;

/** Whether one clause, in lower case, says that a finding stays as it is. */
function isDismissing(clause: string): boolean {
  const text = clause.replace(openings, "");
  return dismissals.some((pattern) => {
    const found = pattern.exec(text);
    if (found === null) return false;
    const behind = text.slice(found.index + found[0].length);
    return !takenBack.test(text.slice(0, found.index)) && !takenBackLater.test(behind);
  });
}

/** Whether a sentence, in lower case, says so, and no other part of it denies something of its own. */
function isDismissal(sentence: string): boolean {
  const clauses = clausesOf(sentence);
  const contrary = clauses.some((clause) => contrast.test(clause) && !isDismissing(clause));
  return !contrary && clauses.some(isDismissing);
}

/** "It is by design, but the message is not." */
const contrast =
  /^(?:but|yet|however|though|although|aber|jedoch)\b.*(?:\b(?:not|never|nicht|keine?[nm]?)\b|n't\b)/;

const border = new RegExp(
  [
    String.raw`[,;:–—]+ *(?!(?:that|dass|ob|whether)\b)| --? `,
    String.raw` (?<!\b(?:anything|all|nothing) )(?=(?:but|however|though|although|aber|sondern|weil|denn) )`,
    String.raw` (?<!\bnot )(?=because )`,
    String.raw` (?=(?:and|since|as) (?:it|this|that|we|i|they)\b)`,
  ].join("|"),
);

/** Cannot end a clause: a denial whose object comes after an aside. */
const unfinished =
  /(?:\b(?:not|(?<!\bas )is|are|was|were|never|nicht|ist|kein|that|dass|think|believe|sure|sicher)|n't|'s)$/;

/** The clauses of a sentence. Text in brackets counts as separate clauses. */
function clausesOf(sentence: string): string[] {
  const asides = [...sentence.matchAll(/\(([^()]*)\)/g)].map(([, inside = ""]) => inside);
  const whole = sentence.replace(/\([^()]*\)/g, " ").replace(/ +/g, " ");
  return [whole, ...asides].flatMap(split);
}

function split(text: string): string[] {
  const parts = text.split(border).map((part) => part.trim());
  const open = parts.findIndex((part) => unfinished.test(part));
  return open < 0 ? parts : [...parts.slice(0, open), parts.slice(open).join(" ")];
}

/** A sentence in the form that the word rules read. */
interface Sentence {
  /** In lower case, without emphasis, URLs and punctuation around it, with even white space. */
  text: string;
  /** Ends in a question mark. */
  isQuestion: boolean;
}

/** Longer ones are not remarks on a finding: only their question mark counts. */
const MAX_CHARACTERS = 1_000;

const blockStart = /^\s*(?:[-+#|•]|\d{1,3}[.)]\s)/;

/** The sentences of a text without code and quotes. `lines` says whether the end of a line ends a sentence, or may wrap it. */
function sentencesOf(written: string, lines: "end" | "wrap"): Sentence[] {
  const paragraphs: string[] = [];
  let isOpen = false;
  for (const line of plain(written).split("\n")) {
    if (isOpen && lines === "wrap" && line.trim() !== "" && !blockStart.test(line))
      paragraphs[paragraphs.length - 1] += ` ${line}`;
    else paragraphs.push(line);
    isOpen = line.trim() !== "";
  }
  return paragraphs.flatMap((paragraph) => paragraph.split(/(?<=[.!?…])(?=\s)/)).flatMap(sentence);
}

/** URLs may contain question marks and words that are not the writer's. */
const plain = (text: string) =>
  text
    .replace(/\bhttps?:\/\/\S*[^\s.,;:!?)]/gi, "link")
    // Code operators that are not marked as code.
    .replace(/ \?\? (?=\S)| \? (?=[^?\n]{1,80} : )/g, " ")
    .replace(/[’‘`´]/g, "'")
    .replace(/[*_~"“”„«»]/g, "")
    .toLowerCase();

function sentence(raw: string): Sentence[] {
  const words = raw.trim();
  const isQuestion = /\?[\s)!.?]{0,20}$/.test(words.slice(-20));
  if (words.length > MAX_CHARACTERS) return [{ text: "", isQuestion }];
  const text = words
    .replace(/\s+/g, " ")
    .replace(/^[^\p{L}\p{N}@]+/u, "")
    // The lookbehind matches only at the start of a run: starting at each of its characters would scan the run again each time.
    .replace(/(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/u, "")
    .replace(/^(?:@[\w-]+(?:\[bot\])?[ ,:]*)+/, "");
  return text === "" && !isQuestion ? [] : [{ text, isQuestion }];
}

/** Remarks on a finding are short: this much of a reply is read, and this many characters of its writer's own text. */
const most = { bytes: 20_000, characters: 5_000 };

/** The part of a reply that is read. */
function readReply(body: string): { written: string; isWhole: boolean } {
  const looked = cutBytes(body, most.bytes);
  const written = writtenText(looked);
  const isWhole = looked.length === body.length && written.length <= most.characters;
  return { written: written.slice(0, most.characters), isWhole };
}

/**
 * Whether a reply says that a finding stays as it is: "won't fix", "this is intended", "not a bug". Judged by sentence and clause: a
 * question, a condition, a denial ("this is not intended"), a doubt or a quote of others dismisses nothing, nor does a reply that mentions
 * a fix. In doubt it is not a dismissal, because a person can always say it in plainer words. A reply that is too long to read completely
 * may take its statement back at the end, so it does not dismiss either.
 */
export function dismisses(body: string): boolean {
  const { written, isWhole } = readReply(body);
  if (!isWhole || ownWords.test(written)) return false;
  const said = sentencesOf(written, "wrap");
  if (said.some(({ text }) => speaksOfFix.test(text))) return false;
  return said.some(({ text, isQuestion }) => {
    if (isQuestion || openQuestion.test(text) || conditional.test(text)) return false;
    return isDismissal(text);
  });
}

/**
 * Whether a reply wants an answer: it contains a question or a request, not after thousands of words. Thanks and reports of what was done
 * want none.
 */
export function asks(body: string): boolean {
  return sentencesOf(readReply(body).written, "end").some(({ text, isQuestion }) => {
    if (isQuestion) return !acknowledgement.test(text);
    return openQuestion.test(text) || request.test(text);
  });
}

/** Characters. Longer ones always say something. */
const longestThanks = 200;

/** Whether a reply only thanks or agrees, in words or by a sign: it takes back nothing that was said. */
export function acknowledges(body: string): boolean {
  if (body.length > longestThanks || /[`>]/.test(body)) return false;
  const said = sentencesOf(body.replace(goodSign, " ok "), "end");
  return said.length > 0 && said.every(({ text, isQuestion }) => !isQuestion && courtesy.test(text));
}

const goodSign =
  /:(?:\+1|tada|heart|rocket|ok_hand|pray|white_check_mark):|[👍🎉❤🚀🙏👌✅🙂😄][\u{1F3FB}-\u{1F3FF}\uFE0F]*/gu;

/** Consists only of words that contradict nothing. */
const courtesy = new RegExp(
  `^(?:(?:${[
    "ok|okay|alright|great|good|nice|cool|perfect|awesome|excellent|yes|yep|yeah|agreed|confirmed|correct|right|lgtm",
    "thanks|thank you|many|thx|ty|cheers|good catch|well done|looks good|works|fixed|done|danke|super|prima|passt",
    "so much|a lot|very much|again|all|it|this|that|is|now|here|to me|and|for (?:the|your|checking|fixing|confirming)",
    "check|review|fix|help|confirmation|@[\\w-]{1,60}",
  ].join("|")})(?![\\w-])[ ,.!:;-]*)+$`,
);

/** Questions and rules for us are not about the finding. */
const ownWords = /^\s*(?:\/|@[\w-]{1,60}(?:\[bot\])? +)(?:ask|remember)\b/i;

/** Promises, requests or reports a fix. */
const speaksOfFix = new RegExp(
  [
    String.raw`\b(?:will|(?:i|we)'ll|let me|let's|(?<!not )going to|should|must|needs? to|have to|has to)` +
      String.raw`(?: still| just| also| rather| \w+ly)?(?: be)? (?:fix|change|address|correct|repair)(?:e?d|ing)?\b`,
    String.raw`(?<!\b(?:be|not|never|get|a|of) )\bfixed\b`,
    String.raw`(?<!nicht(?: mehr)? )\b(?:behoben|gefixt|korrigiert)\b`,
    String.raw`\b(?:(?:i'm|we're|now) fixing|(?:behebe|korrigiere|fixe) (?:ich|das|es)\b(?! nicht))`,
  ].join("|"),
);

/** A condition, anywhere in its sentence. */
const conditional =
  /\b(?:if|unless|whether|assuming|suppos(?:e|ing)|provided that|in case|wenn|falls|sofern|ob|außer|es sei denn|or not|oder nicht)\b/;

const pronoun = `(?:this|that|it|these|those|they|you|we|i|there|the|a|an|any|all)`;
const auxiliary = String.raw`(?:is|are|was|were|does|do|did|can|could|should|would|will|has|have|had|won't|\w{2,6}n't)`;

/** Begins like a question, whatever its end. */
const openQuestion = new RegExp(
  `^(?:(?:and|but|so|then|also|ok|okay|hm+|well|und|aber|sorry|thanks|hi|hey|hello)[ ,:]+)*(?:${[
    String.raw`(?:why|how come|warum|wieso|weshalb|woher|inwiefern|inwieweit)\b`,
    String.raw`how (?:${auxiliary}|much|many|about|to|exactly|else|so)\b`,
    String.raw`what(?:'s| (?:${auxiliary}|about|if|happens|exactly|makes|kind|else|makes|the reason))\b`,
    String.raw`(?:where|when|who)(?:'s| (?:${auxiliary}))\b`,
    String.raw`which (?:is (?:it|that|right|correct)|do|does|did|should|can|could|would)\b`,
    String.raw`(?:which|what|whose) \w+ (?:do|does|did|should|can|could|would|is|are) \w`,
    String.raw`(?!do (?:it|that|this)\b|(?:did|has|have|will) (?:it|that|this)$)${auxiliary} ${pronoun} \w`,
    String.raw`wie (?:ist|sind|wäre|kann|soll|sollte|würde|macht|funktioniert|geht|kommt|meinst|genau|sieht|viele?|verhält|passiert)\b`,
    String.raw`was (?:ist|sind|wäre|meinst|passiert|genau|bedeutet|heißt|soll|spricht|kann|macht|schlägst)\b`,
    String.raw`(?:ist|sind|kannst|könntest|kann|könnte|sollte|soll|hast|habt|könnt|würdest) (?:das|dies|es|du|ihr|man|ich|wir|der|die|den|bitte)\b`,
  ].join("|")})`,
);

/** Begins like a request. */
const request = new RegExp(
  `^(?:(?:please|pls|plz|bitte|and|then|so|ok|okay|thanks|hi|hey|hello|und)[ ,:]+)*(?:${[
    String.raw`(?:explain|elaborate|clarify|describe|tell me|show me|show us|give me|give us|give an|walk me|walk us|help me)\b`,
    String.raw`(?<=please |pls |plz )(?:show|give|tell|suggest|propose|provide|point|check|verify|look|compare|list|name|help)\b`,
    String.raw`(?:erklär\w*|erläuter\w*|beschreib\w*|zeig\w*|nenne?|sag(?:e|t)?) (?:mir|uns|bitte|das|den|die|es|warum|wie|was)\b`,
    String.raw`(?<=bitte )(?:erklär|erläuter|beschreib|zeig|nenne|begründe)\w*`,
    String.raw`i (?:don't|do not|can't|cannot) (?:understand|get|see|follow) (?:why|how|what|where)\b`,
    String.raw`i wonder (?:why|how|what|where|whether|if)\b`,
  ].join("|")})`,
);

/** Asks for nothing in spite of its question mark: "Fixed, ok?" */
const acknowledgement =
  /^(?:(?:fixed|done|changed|thanks|thank you|good catch|will do|ok|okay)\b[^?]*[ ,.]+)?(?:ok|okay|k|alright|all right|deal|fine|good|great|cool|nice|thanks|thank you|thx|passt|gut)$/;
