import { cutBytes } from "../text/cut.ts";
import { writtenText } from "../text/written-text.ts";
import { isDismissal } from "./dismissing-words.ts";
import { sentencesOf } from "./sentences.ts";

/** Remarks on a finding are short: so much of a reply is looked at, and so many characters of what its writer says in that. */
const most = { bytes: 20_000, characters: 5_000 };

/** What a reply says, as far as it is looked at. */
function readReply(body: string): { written: string; isWhole: boolean } {
  const looked = cutBytes(body, most.bytes);
  const written = writtenText(looked);
  const isWhole = looked.length === body.length && written.length <= most.characters;
  return { written: written.slice(0, most.characters), isWhole };
}

/**
 * Whether a reply says that a finding stays as it is: "won't fix", "this is intended", "not a bug". Judged by sentence and
 * clause: a question, a condition, a denial ("this is not intended"), a doubt and what others say dismiss nothing, nor does a
 * reply that speaks of a fix. In doubt it is no dismissal, for a person can always say it in plainer words; one too long to
 * be looked at whole may take back at its end what it says, and is none.
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
 * Whether a reply wants an answer: it holds a question or a request, not behind thousands of words. Thanks, and word of what
 * was done, want none.
 */
export function asks(body: string): boolean {
  return sentencesOf(readReply(body).written, "end").some(({ text, isQuestion }) => {
    if (isQuestion) return !acknowledgement.test(text);
    return openQuestion.test(text) || request.test(text);
  });
}

/** Longer ones say something, whatever it is; in characters. */
const longestThanks = 200;

/** Whether a reply does no more than to thank or to agree, in words or by a sign: it takes back nothing that was said. */
export function acknowledges(body: string): boolean {
  if (body.length > longestThanks || /[`>]/.test(body)) return false;
  const said = sentencesOf(body.replace(goodSign, " ok "), "end");
  return said.length > 0 && said.every(({ text, isQuestion }) => !isQuestion && courtesy.test(text));
}

const goodSign =
  /:(?:\+1|tada|heart|rocket|ok_hand|pray|white_check_mark):|[👍🎉❤🚀🙏👌✅🙂😄][\u{1F3FB}-\u{1F3FF}\uFE0F]*/gu;

/** Made of words alone that contradict nothing. */
const courtesy = new RegExp(
  `^(?:(?:${[
    "ok|okay|alright|great|good|nice|cool|perfect|awesome|excellent|yes|yep|yeah|agreed|confirmed|correct|right|lgtm",
    "thanks|thank you|many|thx|ty|cheers|good catch|well done|looks good|works|fixed|done|danke|super|prima|passt",
    "so much|a lot|very much|again|all|it|this|that|is|now|here|to me|and|for (?:the|your|checking|fixing|confirming)",
    "check|review|fix|help|confirmation|@[\\w-]{1,60}",
  ].join("|")})(?![\\w-])[ ,.!:;-]*)+$`,
);

/** A question to us and a rule for us are none of the finding's. */
const ownWords = /^\s*(?:\/|@[\w-]{1,60}(?:\[bot\])? +)(?:ask|remember)\b/i;

/** A fix is promised, asked for or told. */
const speaksOfFix = new RegExp(
  [
    String.raw`\b(?:will|(?:i|we)'ll|let me|let's|(?<!not )going to|should|must|needs? to|have to|has to)` +
      String.raw`(?: still| just| also| rather| \w+ly)?(?: be)? (?:fix|change|address|correct|repair)(?:e?d|ing)?\b`,
    String.raw`(?<!\b(?:be|not|never|get|a|of) )\bfixed\b`,
    String.raw`(?<!nicht(?: mehr)? )\b(?:behoben|gefixt|korrigiert)\b`,
    String.raw`\b(?:(?:i'm|we're|now) fixing|(?:behebe|korrigiere|fixe) (?:ich|das|es)\b(?! nicht))`,
  ].join("|"),
);

/** A condition, wherever in its sentence it stands. */
const conditional =
  /\b(?:if|unless|whether|assuming|suppos(?:e|ing)|provided that|in case|wenn|falls|sofern|ob|außer|es sei denn|or not|oder nicht)\b/;

const pronoun = `(?:this|that|it|these|those|they|you|we|i|there|the|a|an|any|all)`;
const auxiliary = String.raw`(?:is|are|was|were|does|do|did|can|could|should|would|will|has|have|had|won't|\w{2,6}n't)`;

/** Begins as a question does, whatever it ends with. */
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

/** Begins as a request does. */
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

/** Asks nobody for anything, for all its question mark: "Fixed, ok?" */
const acknowledgement =
  /^(?:(?:fixed|done|changed|thanks|thank you|good catch|will do|ok|okay)\b[^?]*[ ,.]+)?(?:ok|okay|k|alright|all right|deal|fine|good|great|cool|nice|thanks|thank you|thx|passt|gut)$/;
