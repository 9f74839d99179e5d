import { isPlaceholder, isWordLike, looksMixed, looksRandom, partsOfName } from "./randomness.ts";

/**
 * A form that gives a secret away. Each pattern is linear: it begins where a run of its characters begins and not within one, and what
 * repeats in it cannot be divided in two ways.
 */
export interface SecretForm {
  kind: string;
  /** In small letters; without one of them in the text, there is none of the form. */
  hints: readonly string[];
  pattern: RegExp;
  /** Whether what the pattern found is one. */
  accept(found: string): boolean;
}

type Accept = SecretForm["accept"];

export const form = (
  kind: string,
  hints: string,
  pattern: RegExp,
  accept: Accept = noPlaceholder,
): SecretForm => ({
  ...{ kind, hints: hints.split(" "), pattern, accept },
});

function noPlaceholder(found: string): boolean {
  return !isPlaceholder(found);
}

/** For forms with characters that names have as well, and of any length. */
export function random(found: string): boolean {
  return noPlaceholder(found) && !isWordLike(found.replace(/^[a-z]+[-_.]/, ""));
}

export function randomWithDigit(found: string): boolean {
  return /\d/.test(found.slice(4)) && random(found);
}

/** Whether base64 holds `name:password`. */
export function isLogin(encoded: string): boolean {
  return /^[\x20-\x39\x3b-\x7e]{0,100}:[\x20-\x7e]{6,}$/.test(
    Buffer.from(encoded, "base64").toString("latin1"),
  );
}

export function looksLikePassword(value: string): boolean {
  return looksRandom(value, 8) || (looksMixed(value, 8) && !partsOfName(value));
}

/** It has no mark of its own: forty characters of base64, in a text that names AWS. */
export function looksLikeAwsKey(value: string): boolean {
  return looksRandom(value, 40) && /[A-Z]/.test(value) && /[a-z]/.test(value);
}

export function looksLikeToken(value: string): boolean {
  return looksRandom(value, 20);
}
