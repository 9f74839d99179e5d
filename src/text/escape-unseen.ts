/** `JSON.stringify` leaves these as they are, and a terminal, a log viewer or an editor that shows the text would obey them. */
const unseen = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Writes invisible characters of JSON text as escapes, which changes the text and not its value. */
export function escapeUnseen(json: string): string {
  return json.replace(unseen, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
