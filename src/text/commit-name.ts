/** GitHub links as few digits as this, and no name has more than the other. */
const digits = /^[0-9a-f]{7,64}$/i;

/** How long names in full are, by SHA-1 and SHA-256. */
const whole = new Set([40, 64]);

/**
 * Whether a word may be read as the name of a commit. In short, a word ("defaced") and a number (1000000) are what they look like far
 * more often: one in thirty names has no letter in its first seven digits, and not one in a thousand has letters alone.
 */
export function mayNameCommit(word: string): boolean {
  if (!digits.test(word)) return false;
  return whole.has(word.length) || (/\d/.test(word) && /[a-f]/i.test(word));
}
