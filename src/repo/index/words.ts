/** Words that are too frequent to distinguish anything. */
const common = new Set(
  "a an the of to in on at is are be was it its this that these those and or not no if else for from with by as do does how what where who why when which can i we you there here has have had will would should".split(
    " ",
  ),
);

const identifier = /[\p{L}\p{N}_$]+/gu;

/** Longer identifiers are data, not words. */
const longestWord = 60;

/** The searchable words of a text, in lower case, each once: identifiers whole and split (`parseURLPath` is also parse, url, path). */
export function wordsOf(text: string): string {
  const words = new Set<string>();
  for (const word of text.match(identifier) ?? [])
    if (word.length <= longestWord) for (const one of wordsIn(word)) words.add(one);
  return [...words].join(" ");
}

const wordsIn = (identifier: string): string[] =>
  [identifier.toLowerCase(), ...partsOf(identifier)].filter((one) => one.length > 1);

/** Words that cannot be split. */
const plain = /^[a-z]+$/;

/** `parseURLPath`, `parse_url_path` and `PARSE_URL_PATH` are parse, url, path. */
export function partsOf(name: string): string[] {
  if (plain.test(name)) return [name];
  return name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

/** Words that express what a query wants to know, but not its subject. */
const asking = new Set(
  "call calls called caller callers use uses used user users tested covered find show list decided decision explain work works".split(
    " ",
  ),
);

/** A query's names as written, and its words without the common ones. */
export function queryWords(query: string): { names: string[]; words: string[] } {
  const names = [
    ...new Set(query.match(/[\p{L}_$][\p{L}\p{N}_$]*(?:[.:#]+[\p{L}_$][\p{L}\p{N}_$]*)*/gu) ?? []),
  ];
  const all = wordsOf(query)
    .split(" ")
    .filter((word) => word !== "" && !common.has(word));
  const things = all.filter((word) => !asking.has(word));
  const words = things.length > 0 ? things : all;
  return { names: names.filter((name) => name.length > 1 && !common.has(name.toLowerCase())), words };
}
