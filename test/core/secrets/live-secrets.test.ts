import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  holdsLiveSecret,
  holdsPlainSecret,
  registerSecret,
  withoutLiveSecrets,
} from "../../../src/core/secrets/live-secrets.ts";
import { seeded } from "../../support/seeded.ts";

const random = seeded(7);
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const randomText = (length: number, alphabet = letters) =>
  Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const pkcs8 = rsa.export({ type: "pkcs8", format: "pem" }) as string;
const pkcs1 = rsa.export({ type: "pkcs1", format: "pem" }) as string;
const tokenHeader = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9";
const secrets = {
  "a webhook secret": randomText(64, "0123456789abcdef"),
  "a model's key": `sk-proj-${randomText(120)}`,
  "a short token": `ghs_${randomText(36, letters.slice(0, 62))}`,
  "a long token": `ghs_123456_${tokenHeader}.${randomText(140)}.${randomText(342)}`,
  "a password": 'q8%Xz&"w2\\nK§e4/Rt\n7u=Y',
};
for (const secret of Object.values(secrets)) registerSecret(secret);
registerSecret(pkcs8, { keep: true });

const reversed = (text: string) => [...text].reverse().join("");
const base64 = (text: string) => Buffer.from(text).toString("base64");
const hex = (text: string) => Buffer.from(text).toString("hex");
const codeOf = (character: string) => (character.codePointAt(0) ?? 0).toString(16);
const spellings: Record<string, (text: string) => string> = {
  "as it is": (text) => text,
  "as JSON": (text) => JSON.stringify(text).slice(1, -1),
  "as JSON within JSON": (text) => JSON.stringify(JSON.stringify(text)),
  "in a URL": encodeURIComponent,
  "with every character escaped for a URL": (text) => hex(text).replaceAll(/../g, "%$&"),
  "as HTML entities": (text) => [...text].map((one) => `&#${one.codePointAt(0)};`).join(""),
  "as HTML entities in hex": (text) => [...text].map((one) => `&#X${codeOf(one).padStart(6, "0")}`).join(""),
  "as code points of a program": (text) => [...text].map((one) => `\\u{${codeOf(one)}}`).join(""),
  "as long code points of a program": (text) =>
    [...text].map((one) => `\\\\u{${codeOf(one).padStart(6, "0")}}`).join(""),
  "as units of a program": (text) => [...text].map((one) => `\\u${codeOf(one).padStart(4, "0")}`).join(""),
  "with an entity or an escape between": (text) => [...text].join("&nbsp;\\t&#8203;"),
  "as escapes of a program": (text) => hex(text).replaceAll(/../g, "\\x$&"),
  "as base64": base64,
  "as base64, one byte in": (text) => base64(`x${text}y`),
  "as base64, two bytes in": (text) => base64(`xy${text}`),
  "as base64 for URLs": (text) => Buffer.from(text).toString("base64url"),
  "as base64 of 76 characters a line": (text) => base64(text).replaceAll(/.{76}/g, "$&\r\n"),
  "as hex": hex,
  "as hex in capitals": (text) => hex(text).toUpperCase(),
  "as hex with spaces": (text) => hex(text).replaceAll(/../g, "$& "),
  "as numbers of bytes": (text) => Buffer.from(text).join(", "),
  backwards: reversed,
  "as base64 backwards": (text) => reversed(base64(text)),
  "in capitals": (text) => text.toUpperCase(),
  "one character a line": (text) => [...text].join("\n"),
  "one character a line, in JSON": (text) => JSON.stringify([...text].join("\n")),
  "with a list's mark before each": (text) => [...text].map((one) => `- ${one}\n`).join(""),
  "with invisible characters": (text) => [...text].join("\u200b\u2060"),
  "with full stops": (text) => [...text].join("."),
  "in pieces of four": (text) => text.replaceAll(/.{4}/gs, "$& | "),
  "with backticks": (text) => [...text].map((one) => `\`${one}\``).join(" "),
};

/** Its letters and digits in small letters. */
const bare = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
const windows = (text: string, size: number) =>
  Array.from({ length: Math.max(0, text.length - size + 1) }, (_, at) => text.slice(at, at + size));

/** Words, symbols, code; never a long run that could be a secret. */
const prose = fc
  .array(fc.oneof(fc.lorem({ maxCount: 4 }), fc.string({ maxLength: 12, unit: "grapheme" })), {
    maxLength: 12,
  })
  .map((parts) => parts.join(" "));

function expectGone(before: string, hidden: string, after: string): void {
  const text = `${before} ${hidden} ${after}`;
  expect(holdsLiveSecret(text)).toBe(true);
  const clean = withoutLiveSecrets(text);
  expect(holdsLiveSecret(clean)).toBe(false);
  expect(clean).toContain("[secret]");
  const left = bare(clean);
  // Twice as many hex digits as characters: less than twelve of these are no part of the promise.
  const leak = windows(bare(hidden), 24).find((window) => left.includes(window));
  expect(leak).toBeUndefined();
  // The neighbors may agree with the secret by a character or two.
  expect(clean.startsWith(before.slice(0, -8))).toBe(true);
  expect(clean.endsWith(after.slice(8))).toBe(true);
}

describe("a live secret", () => {
  describe.each(Object.entries(spellings))("%s", (_, spell) => {
    it.each(Object.entries(secrets))(
      "A live secret is found and taken out whatever stands around it: %s",
      (_, secret) => {
        const body = secret.replace(/^.*?eyJ\w+\./, "");
        fc.assert(
          fc.property(prose, prose, (before, after) => expectGone(before, spell(body), after)),
          { seed: 7, numRuns: 8 },
        );
      },
    );
  });

  it("A long secret is found in every part of 16 characters, in every spelling", () => {
    const long = Object.values(secrets).filter((secret) => secret.length >= 24 && /^[\w.-]+$/.test(secret));
    const part = fc.constantFrom(...long).chain((secret) => {
      const body = secret.replace(/^(.*?eyJ\w+\.|[a-z]+[-_]proj-|ghs_)/, "");
      return fc.nat(body.length - 16).map((at) => body.slice(at, at + 16));
    });
    const spell = fc.constantFrom(...Object.values(spellings));
    fc.assert(
      fc.property(part, spell, prose, prose, (text, write, before, after) => {
        expect(holdsLiveSecret(`${before} ${write(text)} ${after}`)).toBe(true);
      }),
      { seed: 7, numRuns: 1_500 },
    );
  });
});

describe("a private key", () => {
  const jwk = rsa.export({ format: "jwk" });
  it.each([
    ["in the format it was given in", pkcs8],
    ["in the format of its file", pkcs1],
    ["without its first and last line", pkcs8.split("\n").slice(1, -2).join("\n")],
    ["as JSON", JSON.stringify({ pkcs1 })],
    ["in an environment file", pkcs1.replaceAll("\n", "\\n")],
    ["as base64 of its file", base64(pkcs1)],
    ["as hex of its file", hex(pkcs8)],
    ["backwards", reversed(pkcs1)],
    ["as its private exponent", jwk.d!],
    ["as a prime", Buffer.from(jwk.p!, "base64url").toString("hex").replaceAll(/../g, "$&:")],
    ["in three of its lines", pkcs8.split("\n").slice(12, 15).join("\n")],
  ])("A private key is found %s", (_, text) => {
    expect(holdsLiveSecret(`It is\n${text}\n.`)).toBe(true);
    // The first and last line, and what stands between the numbers, is the same in all keys.
    const left = bare(withoutLiveSecrets(text).replaceAll("[secret]", ""));
    expect(left.length).toBeLessThan(0.2 * bare(text).length);
  });

  it("A private key does not make a secret of what every key begins with", () => {
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
    for (const format of ["pkcs1", "pkcs8"] as const) {
      const text = other.privateKey.export({ type: format, format: "pem" }) as string;
      expect([text, base64(text), hex(text)].map(holdsLiveSecret)).toEqual([false, false, false]);
    }
    const text = other.publicKey.export({ type: "spki", format: "pem" }) as string;
    expect(holdsLiveSecret(text)).toBe(false);
  });

  it("A private key of another kind is found by its private part, whatever bytes that begins with", () => {
    const begins = ["", "04", "0420", "3020", "30"];
    for (const start of begins) {
      const seed = `${start}${randomText(64, "0123456789abcdef")}`.slice(0, 64);
      const der = Buffer.from(`302e020100300506032b657004220420${seed}`, "hex");
      registerSecret(`-----BEGIN PRIVATE KEY-----\n${der.toString("base64")}\n-----END PRIVATE KEY-----\n`);
      expect(holdsLiveSecret(`d: ${Buffer.from(seed, "hex").toString("base64url")}`), start).toBe(true);
    }
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    registerSecret(privateKey.export({ type: "pkcs8", format: "pem" }) as string);
    expect(holdsLiveSecret(`d: ${privateKey.export({ format: "jwk" }).d}`)).toBe(true);
  });
});

describe("a private key in a format that only its program reads", () => {
  const body = Buffer.from(randomText(600)).toString("base64").replaceAll(/.{70}/g, "$&\n");
  const [first, last] = ["-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"];

  it("A key in a format of one program is found by each part of its body, in every spelling", () => {
    registerSecret(`${first}\n${body}\n${last}\n`);
    const codes = body.replaceAll("\n", "");
    for (const at of [0, 100, 333, codes.length - 16])
      for (const [name, spell] of Object.entries(spellings))
        expect(holdsLiveSecret(spell(codes.slice(at, at + 16))), `${name} at ${at}`).toBe(true);
    expect([first, last, `${first}\n${last}`].map(holdsLiveSecret)).toEqual([false, false, false]);
  });
});

describe("holdsPlainSecret", () => {
  it("holdsPlainSecret finds a secret as it is and as JSON writes it, and a key by any of its lines", () => {
    for (const secret of [...Object.values(secrets), pkcs8]) {
      expect([secret, JSON.stringify({ a: `x${secret}y` })].map(holdsPlainSecret)).toEqual([true, true]);
    }
    expect(holdsPlainSecret(pkcs8.split("\n")[9]!)).toBe(true);
    expect(holdsPlainSecret(`-----BEGIN PRIVATE KEY-----\n${pkcs8.split("\n")[1]!.slice(0, 40)}`)).toBe(
      false,
    );
  });
});

describe("ordinary text", () => {
  it.each(["not-needed", "DEVELOPMENT", "lm-studio", "sk-no-key-required", "Placeholder", "development"])(
    "Ordinary text survives a secret that might be words: %s",
    (secret) => {
      registerSecret(secret, { keep: true });
      const text = `A key is ${secret} here (${secret.toUpperCase()}).`;
      expect(withoutLiveSecrets(text)).toBe(text);
      expect(holdsLiveSecret(text)).toBe(false);
    },
  );

  it("Ordinary text survives parts of a secret that is made of words", () => {
    registerSecret("my company webhook secret for production 2026");
    expect(withoutLiveSecrets("The webhook secret for production is missing.")).toContain(
      "webhook secret for production",
    );
    expect(withoutLiveSecrets("my company webhook-secret for Production 2026!")).toBe("[secret]!");
  });

  it("Ordinary text survives what all tokens of an issuer begin with", () => {
    expect(holdsLiveSecret(`ghs_123456_${tokenHeader}.`)).toBe(false);
    expect(holdsLiveSecret("sk-proj-")).toBe(false);
  });

  it("Ordinary text loses a short secret of words and other characters, or of many words", () => {
    for (const secret of ["test-Xk9qZ", "TEST_q9", "correct horse battery staple", "abcdefghijklmnop"]) {
      registerSecret(secret.padEnd(8, "7"));
      expect(holdsLiveSecret(`(${secret.padEnd(8, "7")})`), secret).toBe(true);
    }
    registerSecret("abcdefghijklmno");
    expect(holdsLiveSecret("(abcdefghijklmno)")).toBe(false);
  });

  it("Ordinary text loses parts of a secret from 24 characters on", () => {
    const [short, long] = [randomText(23, letters.slice(0, 62)), randomText(24, letters.slice(0, 62))];
    for (const secret of [short, long, "Tr0ub4dorA3x", "Zr0ub4dorA3"]) registerSecret(secret);
    expect([short.slice(0, 16), long.slice(0, 16), long.slice(8)].map(holdsLiveSecret)).toEqual([
      ...[false, true, true],
    ]);
    expect(["tr0ub4dora3x", "zr0ub4dora3"].map(holdsLiveSecret)).toEqual([true, false]);
  });

  it("Ordinary text loses a short secret alone, as it stands", () => {
    const signs = "Ab1>>?~?~";
    registerSecret(signs);
    for (const encoding of ["base64", "base64url", "hex"] as const) {
      const text = Buffer.from(signs).toString(encoding);
      expect(holdsLiveSecret(text), text).toBe(true);
    }
    expect(holdsLiveSecret(hex(signs).toUpperCase())).toBe(true);
    expect(Buffer.from(signs).toString("base64url")).toMatch(/[-_]/);
    registerSecret("Tr0ub4dor");
    const forms = ["Tr0ub4dor", base64("xTr0ub4dorx").slice(1, -1), hex("Tr0ub4dor"), reversed("Tr0ub4dor")];
    for (const form of forms) expect(holdsLiveSecret(`(${form})`), form).toBe(true);
    const text = "tr0ub4DOR, and trouble for d or e";
    expect(withoutLiveSecrets(`Tr0ub4dor ${text}`)).toBe(`[secret] ${text}`);
  });
});

describe("a replacement in a line of JSON", () => {
  it("A replacement in a line of JSON leaves JSON, however the secret is escaped in it", () => {
    const secret = secrets["a password"];
    const token = secrets["a short token"];
    const texts = [
      secret,
      `\\${token}`,
      `\n${token}\n`,
      token.replaceAll(/./g, "\\$&"),
      [...token].join("\\\\n"),
    ];
    const unicode = [...token].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
    for (const text of [...texts, unicode, `\\${unicode}`]) {
      const line = JSON.stringify({ a: text, b: JSON.stringify({ text }) });
      expect(() => JSON.parse(withoutLiveSecrets(line)), line).not.toThrow();
    }
    expect(JSON.parse(withoutLiveSecrets(`{"a":"\\\\${unicode}","b":"${unicode}"}`))).toMatchObject({
      b: "[secret]",
    });
  });
});

// The last of this file, because it displaces the secrets above.
describe("many secrets", () => {
  const tokens = (count: number) => Array.from({ length: count }, () => randomText(40, letters.slice(0, 62)));

  it("Many secrets are remembered for a while if they are tokens, the latest hundred", () => {
    const kept = randomText(40);
    registerSecret(kept, { keep: true });
    const [first = "", second = "", third = ""] = tokens(3);
    for (const token of [first, second, third, ...tokens(97), first]) registerSecret(token);
    expect([first, second, third].map(holdsLiveSecret)).toEqual([true, true, true]);
    registerSecret(tokens(1)[0] ?? "");
    // The first one was met again, so the second is the oldest.
    expect([first, second, third].map(holdsLiveSecret)).toEqual([true, false, true]);
    expect([first, second, third].map(holdsPlainSecret)).toEqual([true, false, true]);
    for (const token of tokens(100)) registerSecret(token);
    expect([first, third, kept].map(holdsLiveSecret)).toEqual([false, false, true]);
  });

  it("Many secrets may share their beginning, and are told apart when one is forgotten", () => {
    const beginning = randomText(20, letters.slice(0, 62));
    const [one, other] = [`${beginning}${randomText(20)}`, `${beginning}${randomText(20)}`];
    for (const token of [one, ...tokens(99), other]) registerSecret(token);
    expect([one.slice(20), other.slice(20), beginning].map(holdsLiveSecret)).toEqual([false, true, true]);
    for (const token of tokens(100)) registerSecret(token);
    expect([other.slice(20), beginning].map(holdsLiveSecret)).toEqual([false, false]);
  });

  it("Many secrets that share their beginning with many others are found by the rest of them alone", () => {
    const beginning = randomText(20, letters.slice(0, 62));
    const some = tokens(6).map((token) => `${beginning}${token}`);
    for (const token of some) registerSecret(token);
    expect(holdsLiveSecret(beginning)).toBe(false);
    for (const token of some) {
      expect(holdsLiveSecret(token.slice(20, 36))).toBe(true);
      expect(withoutLiveSecrets(`(${token})`)).toBe("([secret])");
    }
  });

  it("Many secrets of eight characters are found, and shorter ones are not", () => {
    registerSecret("Tr0ub4d8");
    registerSecret("Tr0ub4x");
    expect(["(Tr0ub4d8)", "(Tr0ub4x)"].map(holdsLiveSecret)).toEqual([true, false]);
    expect(withoutLiveSecrets("(Tr0ub4d8Tr0ub4d8)")).toBe("([secret])");
  });

  it("Many secrets of a dozen characters or more are found in any case", () => {
    registerSecret("Tr0ub4dorAnd3x");
    expect(holdsLiveSecret("tr0ub4dorand3x")).toBe(true);
  });
});
