import { readFileSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "./seeded.ts";

const folder = join(import.meta.dirname, "../../fixtures/secrets");
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"));

interface TrueKind {
  forms: string[];
  contexts?: string[];
}

/** A text that holds a secret, and the parts that must not remain. */
export interface Planted {
  kind: string;
  text: string;
  secret: string;
}

const digits = "0123456789";
const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();
const base64 = `${upper}${lower}${digits}+/`;
const alphabets: Record<string, string> = {
  digits,
  hex: `${digits}abcdef`,
  HEX: `${digits}ABCDEF`,
  lower: lower + digits,
  upper: upper + digits,
  letters: lower + upper,
  base62: lower + upper + digits,
  base32: `${lower}234567`,
  BASE32: `${upper}234567`,
  bech32: "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
  base64,
  base64url: `${upper}${lower}${digits}-_`,
};

/** Expands the placeholders of a form, as the corpus's README describes them. */
export function writeOut(form: string, random: () => number): string {
  const pick = (alphabet: string) => alphabet[Math.floor(random() * alphabet.length)]!;
  const some = (alphabet: string, length: number | string) =>
    Array.from({ length: Number(length) }, () => pick(alphabet)).join("");
  const lines = (length: number | string) => some(base64, length).replaceAll(/.{64}(?!$)/g, "$&\n");
  const encode = (text: string) => Buffer.from(text).toString("base64");
  const claims = (names: string) =>
    JSON.stringify(Object.fromEntries(names.split(",").map((name) => [name, some(alphabets.base62!, 12)])));
  const jwt = () => {
    const parts = ['{"alg":"RS256","typ":"JWT"}', claims("iss,aud,sub,jti,exp")];
    const written = parts.map((part) => Buffer.from(part).toString("base64url"));
    return [...written, some(alphabets.base64url!, 256)].join(".");
  };
  const uuid = () => [8, 4, 4, 4, 12].map((length) => some(alphabets.hex!, length)).join("-");
  const inner = (text: string) =>
    text.replaceAll(/\[(\w+):(\d+)\]/g, (_, name, length) => some(alphabets[name]!, length));
  return form.replaceAll(/\{(\w+)(?::([^{}]*))?\}/g, (mark, name: string, argument = "") => {
    if (name === "uuid") return uuid();
    if (name === "jwt") return jwt();
    if (name === "lines") return lines(argument);
    if (name === "b64") return encode(inner(argument));
    if (name === "b64json") return encode(claims(argument));
    if (name === "pem") {
      const [title, length = ""] = argument.split(":");
      return `-----BEGIN ${title}-----\n${lines(length)}\n-----END ${title}-----\n`;
    }
    return name in alphabets && /^\d+$/.test(argument) ? some(alphabets[name]!, argument) : mark;
  });
}

/** Every form of each kind in each of its contexts. */
export function plantedSecrets(seed: number): Planted[] {
  const random = seeded(seed);
  const { contexts, kinds }: { contexts: string[]; kinds: Record<string, TrueKind> } = read("true.json");
  return Object.entries(kinds).flatMap(([kind, { forms, contexts: own = contexts }]) =>
    forms.flatMap((form) =>
      own.map((context) => {
        const written = writeOut(form, random);
        const secret = /«(.*)»/s.exec(written)?.[1] ?? written;
        return { kind, text: context.replace("{}", () => written.replaceAll(/[«»]/g, "")), secret };
      }),
    ),
  );
}

export interface LookAlike {
  kind: string;
  text: string;
}

export function lookAlikes(seed: number): LookAlike[] {
  const random = seeded(seed);
  const kinds: Record<string, string[]> = read("look-alikes.json");
  return Object.entries(kinds).flatMap(([kind, texts]) =>
    texts.map((text) => ({ kind, text: writeOut(text, random) })),
  );
}

/** Each syntax with five secrets in five places, and with five values that are none: 300 lines of each. */
export function inSyntaxes(seed: number): { secrets: Planted[]; others: LookAlike[] } {
  const random = seeded(seed);
  const corpus: { secrets: string[]; others: string[]; syntaxes: Record<string, string[]> } =
    read("syntaxes.json");
  const places = Object.entries(corpus.syntaxes).flatMap(([kind, texts]) =>
    texts.map((text) => ({ kind, text })),
  );
  const put = ({ kind, text }: LookAlike, secret: string) => ({
    ...{ kind, secret, text: text.replaceAll("§", () => secret) },
  });
  return {
    secrets: places.flatMap((one) => corpus.secrets.map((form) => put(one, writeOut(form, random)))),
    others: places.flatMap((one) => corpus.others.map((value) => put(one, value))),
  };
}
