/** A text of others in at most `length` characters, with the number of those that were left out behind it. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length).toWellFormed()}… [${text.length - length} more characters]`;
}
