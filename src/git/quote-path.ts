const named: Record<number, string> = {
  7: "a",
  8: "b",
  9: "t",
  10: "n",
  11: "v",
  12: "f",
  13: "r",
  34: '"',
  92: "\\",
};

/** A path as git writes it into a patch with `core.quotePath=false`: quoted only when it holds what must be escaped. */
export function quotePath(path: string): string {
  let escaped = "";
  for (const character of path) {
    const code = character.codePointAt(0) ?? 0;
    const letter = named[code];
    if (letter !== undefined) escaped += `\\${letter}`;
    else if (code < 32 || code === 127) escaped += `\\${code.toString(8).padStart(3, "0")}`;
    else escaped += character;
  }
  return escaped === path ? path : `"${escaped}"`;
}

/** The `--- a/x` and `+++ b/x` lines end with a tab when the path holds a space, so that patch programs find its end. */
export function markerPath(path: string): string {
  return /[ ]/.test(path) && !quotePath(path).startsWith('"') ? `${path}\t` : quotePath(path);
}
