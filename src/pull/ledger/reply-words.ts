import { cutBytes } from "../../core/text/cut.ts";

/** The only words that dismiss a finding. A reply with any other word may condemn the code. */
const dismissals = [
  ...["won't ?fix|wont ?fix|will not fix", "by design", "intended", "intentional", "works as intended"],
  ...["works as designed", "not a bug", "not an issue", "false positive", "accepted risk"],
].join("|");

/** Words around a dismissal that add nothing to it. */
const polite =
  "(?:thanks|thank you|thx|sorry|please|yes|yep|ok|okay|hi|hello|@[\\w-]{1,60}(?:\\[bot\\])?)(?: |$)";
const subject = "(?:this|that|it)(?: is|'s)(?: an?)? ";
const onlyDismisses = new RegExp(
  `^(?:${polite})*(?:(?:${subject})?(?:${dismissals})(?: |$)(?:${polite})*)+$`,
  "u",
);

interface Sentence {
  /** In lower case, without emphasis, URLs and punctuation around it, with even white space. */
  text: string;
  /** Ends in a question mark. */
  isQuestion: boolean;
}

/** Longer ones are not remarks on a finding: only their question mark counts. */
const MAX_CHARACTERS = 1_000;

/** The sentences of a text without code and quotes. The end of a line ends a sentence. */
const sentencesOf = (written: string): Sentence[] =>
  plain(written)
    .split("\n")
    .flatMap((line) => line.split(/(?<=[.!?…])(?=\s)/))
    .flatMap(sentence);

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

/** What a person wrote, as far as it matters for an answer: without quotes, code and HTML comments. Linear in its length. */
const readReply = (body: string) =>
  cutBytes(body, most.bytes)
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/<!--[\s\S]*?(?:-->|$(?![\s\S]))/g, "")
    .replaceAll(/^ {0,3}(```|~~~)[\s\S]*?(?:^ {0,3}\1|$(?![\s\S]))/gm, "")
    .replaceAll(/^(?: {0,3}>| {4}|\t).*$/gm, "")
    .replaceAll(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, " ")
    .slice(0, most.characters);

/** Whether a reply says that a finding stays as it is: fixed phrases and courtesy, without a question, a reason or any other word. */
export function dismisses(body: string): boolean {
  const own = body.replaceAll(/^>.*$/gm, "").trimEnd();
  // A question is not what the reply says, and words in code, comments, quotation marks or crossed out may not be.
  if (own.trim().length > longestRemark || /[?`~"“”„«»<>\t]| {4}/.test(own)) return false;
  const words = plain(own.replace(goodSign, " "))
    .replaceAll(/(?:(?!['@[\]])[\p{P}\s])+/gu, " ")
    .trim();
  return onlyDismisses.test(words);
}

/** Whether a reply wants an answer: it contains a question or a request. Thanks and reports of what was done want none. */
export function asks(body: string): boolean {
  return sentencesOf(readReply(body)).some(({ text, isQuestion }) => {
    return isQuestion ? !acknowledgment.test(text) : question.test(text);
  });
}

/** Characters. Longer ones always say something more. */
const longestRemark = 200;

/** Whether a reply only thanks or agrees, in words or by a sign: it takes back nothing that was said. */
export function acknowledges(body: string): boolean {
  if (body.length > longestRemark || /[`>]/.test(body)) return false;
  const sentences = sentencesOf(body.replace(goodSign, " ok "));
  return (
    sentences.length > 0 && sentences.every(({ text, isQuestion }) => !isQuestion && courtesy.test(text))
  );
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

/** Begins like a question or a request, whatever its end. */
const question = new RegExp(
  `^(?:(?:and|but|so|then|also|ok|okay|sorry|thanks|please|hi|hey|hello)[ ,:]+)*(?:${[
    "why|how come|what about|what if",
    "(?:how|what|where|when|who|which)(?:'s| (?:is|are|was|were|do|does|did|can|could|should|would|will|happens))",
    "(?:can|could|would|will) (?:you|this|that|we)|explain|describe|tell me|show me",
    "i (?:don't|do not|can't|cannot) (?:understand|get|see|follow) (?:why|how|what|where)",
  ].join("|")})\\b`,
);

/** Asks for nothing in spite of its question mark: "Fixed, ok?" */
const acknowledgment =
  /^(?:(?:fixed|done|changed|thanks|thank you|good catch|will do|ok|okay)\b[^?]*[ ,.]+)?(?:ok|okay|k|alright|all right|deal|fine|good|great|cool|nice|thanks|thank you|thx|passt|gut)$/;
