import { formatMarker } from "../ledger/marker.ts";
import type { AnswerResult } from "../review/answer/answer-input.ts";
import { byteLength } from "../text/cut.ts";
import type { PublicText } from "../text/inert-text.ts";
import { mostBodyBytes, publicText } from "./public-text.ts";
import { untrustedBlock, untrustedCode } from "./render-untrusted.ts";

/** What is answered. */
export interface AnsweredComment {
  id: number;
  /** Its page, where the answer does not stand right below it; else null. */
  url: string | null;
}

/**
 * Our answer to a comment, marker included: nobody is answered twice for one.
 *
 * @param text our own Markdown, given how many bytes there are for it; what others wrote in it is made harmless already
 */
export function renderAnswer(text: (maxBytes: number) => string, { id, url }: AnsweredComment): PublicText {
  const marker = formatMarker({ kind: "answer", comment: id });
  const before = url === null ? [] : [`In answer to [this comment](${url}):`];
  const taken = [...before, marker].reduce((sum, part) => sum + byteLength(part) + 2, 0);
  return publicText([...before, text(mostBodyBytes - taken), marker].join("\n\n"));
}

/** What a model answered, as everything that a model writes: it notifies nobody, loads nothing and commands nobody. */
export function modelAnswer({ model }: Pick<AnswerResult, "model">, text: string, head: string) {
  const footer = `<sub>Answered by ${untrustedCode(model)} from the code at ${head.slice(0, 12)}. An answer changes nothing: people decide.</sub>`;
  return (maxBytes: number) => `${untrustedBlock(text, maxBytes - byteLength(footer) - 2)}\n\n${footer}`;
}
