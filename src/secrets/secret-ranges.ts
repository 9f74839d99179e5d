import { assignedSecretsIn } from "./assignments.ts";
import { secretForms } from "./forms.ts";
import { privateKeysIn } from "./key-blocks.ts";
import type { Range } from "./ranges.ts";
import type { SecretForm } from "./secret-form.ts";

/** Escapes of JSON and of terminals: their letters belong to no word, so that a token behind a line end is seen to begin there. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const escapes = /\\(?:[nrt]|u[\da-fA-F]{4}(?:\[[\d;]{0,10}m)?)|\u001b\[[\d;]{0,10}m/g;

/** Where something stands that shows by its form to be a secret. Linear in the text's length. */
export function secretFormsIn(written: string): Range[] {
  const text = written.replaceAll(escapes, (found) => " ".repeat(found.length));
  const small = text.toLowerCase();
  const known = secretForms.filter(({ hints }) => hints.some((hint) => small.includes(hint)));
  return [
    ...privateKeysIn(text),
    ...known.flatMap((form) => placesOf(form, text)),
    ...assignedSecretsIn(text),
  ];
}

function placesOf({ pattern, accept }: SecretForm, text: string): Range[] {
  return [...text.matchAll(pattern)]
    .filter(([found]) => accept(found))
    .map(({ 0: found, index }) => ({ start: index, end: index + found.length }));
}
