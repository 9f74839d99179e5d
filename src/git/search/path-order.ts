import { nameBytes } from "../names.ts";

const SLASH = 47;

/** What ripgrep sorts by: names of bytes, folder by folder. So `a/b` stands before `a-b`, otherwise than with git. */
function sortKey(path: string): Buffer {
  const bytes = nameBytes(path);
  for (let at = bytes.indexOf(SLASH); at >= 0; at = bytes.indexOf(SLASH, at + 1)) bytes[at] = 0;
  return bytes;
}

/** What has a path, in the order in which a search answers. */
export function inSearchOrder<One>(all: Iterable<One>, pathOf: (one: One) => string): One[] {
  const keyed = Array.from(all, (one) => ({ one, key: sortKey(pathOf(one)) }));
  return keyed.sort((left, right) => Buffer.compare(left.key, right.key)).map(({ one }) => one);
}
