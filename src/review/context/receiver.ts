/** Words for the object that a method belongs to. */
export const ownObject = /^(?:this|self|cls|super)$/;

/** The last word in front of a member's name, in lower case; null where there is none. */
export function receiverOf(text: string, name: string): string | null {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = memberOf.exec(text.slice(Math.max(0, at - 200), at));
    if (before) return before[1]?.toLowerCase() ?? null;
  }
  return null;
}

/** An object, or the call that makes one, with what leads to its members. */
const memberOf = /([\w$]+)(?:\([^()]*\))?\s*(?:\?\.|\.|->|::|!!\.|&\.)\s*$/;
