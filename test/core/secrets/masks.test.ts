import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { createMasking } from "../../../src/agent/llm/masked-request.ts";
import { Masks } from "../../../src/core/secrets/masks.ts";
import { wrapUntrusted } from "../../../src/core/text/fence.ts";
import { type Planted, plantedSecrets, writeOut } from "../../support/secret-corpus.ts";
import { seeded } from "../../support/seeded.ts";

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const keyOf = (seed: number) => writeOut("{pem:RSA PRIVATE KEY:700}", seeded(seed));
const bodyOf = (pem: string) => pem.split("\n").filter((line) => /^[\w+/=]{12,}$/.test(line));

const masked = async (masks: Masks, text: string) => masks.mask(await masks.learn(text));

/** Each form of each kind once, in one of its contexts. */
let corpus: Planted[];
beforeAll(() => {
  corpus = [...new Map(plantedSecrets(1).map((one) => [one.kind + one.secret.slice(0, 6), one])).values()];
});

/** What must not be left of a secret: the whole of a line, and no long part of it. */
const tellingParts = (secret: string) =>
  secret.split(/\n|\\n/).filter((line) => line.length >= 12 && !line.includes("-----") && /\d/.test(line));

describe("masks", () => {
  it("Masks have the length of their value, and the same number for the same value", async () => {
    const masks = new Masks();
    const text = await masked(masks, `a = "${token}"\nb = "${token}"\n`);
    const mask = `*secret-1${".".repeat(token.length - 10)}*`;
    expect(text).toBe(`a = "${mask}"\nb = "${mask}"\n`);
  });

  it("Masks are given back their values, also where a model miscounts the dots", async () => {
    const masks = new Masks();
    const line = `connect("${token}")`;
    const shown = await masked(masks, line);
    expect(masks.unmask(shown)).toBe(line);
    expect(masks.unmask(shown.replace("....", ".."))).toBe(line);
    expect(masks.holdsMask(shown)).toBe(true);
    expect(masks.holdsMask(line)).toBe(false);
    expect(masks.unmask("*secret-7....*")).toBe("*secret-7....*");
  });

  it("Masks hide a value wherever it stands once one text gave it away", async () => {
    const masks = new Masks();
    const secret = "vK3qP9zXw2LmN8rT";
    await masks.learn(`client_secret: ${secret}`);
    const spelled = [secret, encodeURIComponent(secret), Buffer.from(secret).toString("hex")];
    const base64 = Buffer.from(`user:${secret}`).toString("base64");
    for (const text of [...spelled, `the value is ${secret}!`]) {
      expect(await masked(masks, text)).not.toContain(text.slice(-14, -1));
      expect(masks.unmask(await masked(masks, text))).toBe(text);
    }
    expect((await masked(masks, base64)).slice(9, -3)).not.toContain(base64.slice(9, -3));
  });

  it("Masks hide in code nothing that only words of people call a secret", async () => {
    const value = "vK3qP9zXw2LmN8rT";
    const code = `run(decode("${value}"));`;
    const description = `Warm the cache.\n\napi_token=${value}`;
    const { masks, request } = createMasking(new Masks());
    const call = { id: "c1", name: "get_commit_messages", arguments: "{}" };
    const sent = await request({
      messages: [
        {
          role: "user",
          content: `${wrapUntrusted("title and description", description)}\n${wrapUntrusted("diff", code)}`,
        },
        { role: "assistant", content: "", toolCalls: [call] },
        { role: "tool", callId: "c1", content: `abc ${description}` },
      ],
      ...{ tools: [], maxOutputTokens: 100 },
    });
    const shown = JSON.stringify(sent.messages);
    expect(shown.split(value)).toHaveLength(2);
    expect(shown).toContain(`decode(\\"${value}`);
    // Code that calls it a secret itself hides it everywhere.
    await masks.learn(`api_token = "${value}"`);
    expect(await masked(masks, code)).not.toContain(value);
  });

  it("Masks hide each line of a key by itself, with numbers, signs and other text around it", async () => {
    const key = keyOf(3);
    const lines = key.trim().split("\n");
    const masks = new Masks();
    await masks.learn(`const key = \`${key}\`;\n`);
    const shapes = [
      (line: string, at: number) => `${String(at + 40).padStart(4)}|${line}`,
      (line: string) => `+${line}`,
      (line: string) => `-${line}`,
      (line: string, at: number) => `src/key.ts:${at + 3}: ${line}`,
      (line: string) => `> ${line}`,
    ];
    for (const shape of shapes) {
      for (const some of [lines, lines.slice(4, 7), lines.slice(5, 6)]) {
        const shown = some.map(shape).join("\n");
        const hidden = await masked(masks, shown);
        for (const line of bodyOf(key)) expect(hidden).not.toContain(line.slice(0, 12));
        expect(hidden.split("\n").map((line) => line.length)).toEqual(
          shown.split("\n").map((line) => line.length),
        );
        const firstCharacters = (text: string) => text.split("\n").map((line) => line.slice(0, 1));
        expect(firstCharacters(hidden)).toEqual(firstCharacters(shown));
        expect(masks.unmask(hidden)).toBe(shown);
      }
    }
  });

  it("Masks hide what is left of a long value that is shown cut off", async () => {
    const masks = new Masks();
    const body = writeOut("{base64:1600}", seeded(8));
    await masks.learn(`key: "-----BEGIN PRIVATE KEY-----\\n${body}\\n-----END PRIVATE KEY-----"`);
    for (const cut of [`${body.slice(0, 500)} (1100 more characters)`, `... ${body.slice(701, 990)} ...`]) {
      const hidden = await masked(masks, cut);
      for (let at = 0; at + 16 <= body.length; at++) expect(hidden).not.toContain(body.slice(at, at + 16));
      expect(masks.unmask(hidden)).toBe(cut);
    }
    await masks.learn("https://admin:q8Zr4TnL2w@db.shop.io:5432/orders");
    expect(await masked(masks, "see https://admin.shop.io and db.shop.io:5432/orders")).not.toContain(
      "*secret",
    );
  });

  it("Masks hide a key whose lines end with CRLF", async () => {
    const key = keyOf(4);
    for (const text of [key.replaceAll("\n", "\r\n"), JSON.stringify({ key })]) {
      const masks = new Masks();
      const hidden = await masked(masks, text);
      for (const line of bodyOf(key)) expect(hidden).not.toContain(line.slice(0, 12));
      expect(hidden).toHaveLength(text.length);
      expect(masks.unmask(hidden)).toBe(text);
    }
  });

  it("Masks leave nothing of any kind of secret in random text around it", async () => {
    const around = fc
      .string({ unit: "grapheme", maxLength: 40 })
      .map((text) => text.replaceAll(/[\w/+=.~-]/g, " "));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...corpus),
        around,
        around,
        async ({ text, secret }, before, after) => {
          const masks = new Masks();
          await masks.learn(text);
          const shown = `${before}\n${text}\n${after}`;
          const hidden = await masked(masks, shown);
          expect(hidden).toHaveLength(shown.length);
          for (const part of tellingParts(secret)) expect(hidden).not.toContain(part);
          expect(masks.unmask(hidden)).toBe(shown);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("Masks are told apart also where one value is short and there are many", async () => {
    const random = seeded(9);
    const values = Array.from({ length: 1_200 }, () => writeOut("{base62:13}9", random));
    const masks = new Masks();
    const text = values.map((value) => `api_key = "${value}"`).join("\n");
    const hidden = await masked(masks, text);
    const found = hidden.match(/\*[^"]*\*/g) ?? [];
    expect(new Set(found).size).toBe(found.length);
    for (const [one, other] of [
      [1, 12],
      [2, 20],
      [1, 100],
    ] as const)
      expect(found[other]?.startsWith(found[one] ?? "")).toBe(false);
    expect(masks.unmask(hidden)).toBe(text);
  });

  it("Masks take no number that stands in the code like a mask", async () => {
    const masks = new Masks();
    const literal = 'x = "*secret-1....*"';
    await masks.learn(literal);
    const hidden = await masked(masks, `y = "${token}"`);
    expect(hidden).toContain("*secret-2.");
    expect(masks.unmask(literal)).toBe(literal);
  });

  it("Masks keep the numbers of an earlier attempt, of which no value is on record", async () => {
    const first = new Masks();
    const [one, two] = [`a = "${token}"`, 'password: "xQ9pL2mN7vR4tK8w"'];
    const shown = [await masked(first, one), await masked(first, two)];
    const numbers = first.takeFresh();
    expect(first.takeFresh()).toBeNull();
    expect(JSON.stringify(numbers)).not.toContain(token);

    const again = new Masks(numbers ? [numbers] : []);
    expect([await masked(again, two), await masked(again, one)]).toEqual(shown.toReversed());
    expect(again.takeFresh()).toBeNull();
    expect(await masked(again, 'password: "aB3cD4eF5gH6iJ7k"')).toContain("*secret-3");
  });

  it("Masks do not hide what a model says of a mask a second time", async () => {
    const masks = new Masks();
    const shown = await masked(masks, `password: "${token}"`);
    expect(await masked(masks, shown)).toBe(shown);

    // Random enough to be taken for a password, if no earlier attempt had shown it.
    const said = 'password: "*secret-12.....*"';
    expect(await masked(new Masks([{ salt: "s", numbers: { hash: 12 } }]), said)).toBe(said);
    expect(await masked(new Masks(), said)).not.toBe(said);
  });

  it("Masks hide a new secret beside a mask, and a secret that a model wrote around one", async () => {
    const masks = new Masks();
    const shown = await masked(masks, `password: "${token}"`);
    const other = writeOut("ghp_{base62:36}", seeded(12));
    const both = `${shown}\ntoken: ${other}\n`;
    const hidden = await masked(masks, both);
    expect(hidden).not.toContain(other);
    expect(hidden.startsWith(shown)).toBe(true);
    expect(masks.unmask(hidden)).toBe(`password: "${token}"\ntoken: ${other}\n`);
  });

  it("Masks of short values have a shorter word", async () => {
    const login = (password: string) => `Server=db;pwd=${password};`;
    const masks = new Masks();
    expect(await masked(masks, login("q8Zr4TnL"))).toBe(login("*s1....*"));
    expect(await masked(masks, login("q8Zr4TnLx"))).toBe(login("*s2.....*"));
    expect(await masked(masks, login("q8Zr4TnLx2"))).toBe(login("*secret-3*"));
    expect(masks.unmask("*s1*")).toBe("q8Zr4TnL");
    for (const other of ["*1....*", "*secret-1*", "*s3*", "*s4*"]) expect(masks.unmask(other)).toBe(other);
    const startingAfter = (number: number) => new Masks([{ salt: "s", numbers: { hash: number } }]);
    expect(await masked(startingAfter(99_998), login("q8Zr4TnL"))).toBe(login("*s99999*"));
    expect(await masked(startingAfter(99_999), login("q8Zr4TnL"))).toBe(login("*100000*"));
    expect(await masked(startingAfter(999_999), login("q8Zr4TnL"))).toBe(login("********"));
  });

  it("Masks tell what they know: a value, anything in the form of a mask", async () => {
    const masks = new Masks();
    expect(masks.known).toBe(0);
    const text = `x = "${token}";`;
    expect([masks.holdsSecret(text), masks.looksMasked(text)]).toEqual([false, false]);
    expect(await masks.secretsIn(text)).toEqual([{ start: 5, end: 5 + token.length }]);
    const known = masks.known;
    expect(known).toBeGreaterThan(0);
    expect([masks.holdsSecret(text), masks.holdsSecret('x = "";')]).toEqual([true, false]);
    expect(["*secret-7...*", "a *s1* b", "*", "**"].map((one) => masks.looksMasked(one))).toEqual([
      ...[true, true, false, false],
    ]);
    // A part of it that has no form of its own.
    const part = token.slice(10, 34);
    expect(await masks.secretsIn(`- ${part} and ${token}`)).toEqual([
      { start: 2, end: 26 },
      { start: 31, end: 31 + token.length },
    ]);
    await masks.learn(text);
    expect(masks.known).toBe(known);
  });

  it("Masks mean nothing to people, who read that there was a secret", async () => {
    const masks = new Masks();
    const shown = await masked(masks, `The token ${token} is logged.`);
    expect(masks.forPeople(shown)).toBe("The token [secret] is logged.");
  });
});
