import { looksRandom, partsOfName } from "./randomness.ts";
import type { Range } from "./ranges.ts";

/** A name, what assigns to it, and a value, in the languages of code, configuration and shells. A name is taken from its beginning. */
const assignment =
  /(?<![\w.-])([\w.-]{2,80})(["'`]?\s{0,3}(?::=|=>|[:=])\s{0,3}["'`]?)([^\s"'`,;(){}[\]<>$\\]{8,500})/dg;

/** Words of a name whose value is a secret. */
const secretName =
  /(?:pass(?:word|wd|phrase)?|pwd|secret|token|api_?key|app_?key|access_?key|account_?key|private_?key|signing_?key|encryption_?key|master_?key|auth_?key|secret_?key|credentials?|_pat)$/i;
const hints = /pass|pwd|secret|token|key|credential|_pat/i;

/** What follows the value in code: a call or a member is no literal. */
const goesOn = /[(){}[\]<>$]/;

const fewestCharacters = 12;

/** A word of a name has three letters. */
const word = /^(?:[A-Z]{3}|[A-Za-z][a-z]{2})/;
const fewestParts = 3;

/** The address of an account or a coin, which is shorter than a key, and what an issuer says is public. */
const publicValue = /^(?:0x[\da-f]{40}$|pk_(?:test|live)_)/i;

/** Whether code gives a name to the token or key, or something that everybody may know. */
function isNoSecret(value: string): boolean {
  if (publicValue.test(value)) return true;
  const parts = partsOfName(value) ?? [];
  return parts.length >= fewestParts && parts.some((part) => word.test(part));
}

/** Where a value stands that was given to a name like `password` and looks random. Linear in the text's length. */
export function assignedSecretsIn(text: string): Range[] {
  if (!hints.test(text)) return [];
  const found: Range[] = [];
  for (const { 1: name = "", 3: value = "", indices } of text.matchAll(assignment)) {
    const [start, end] = indices?.[3] ?? [0, 0];
    if (!secretName.test(name.replaceAll("-", "_")) || goesOn.test(text.charAt(end))) continue;
    if (looksRandom(value, fewestCharacters) && !isNoSecret(value)) found.push({ start, end });
  }
  return found;
}
