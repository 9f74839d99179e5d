import { describe, expect, it } from "vitest";
import {
  isOfWords,
  isPlaceholder,
  isWordLike,
  looksMixed,
  looksRandom,
  partsOfName,
} from "../../../src/core/secrets/randomness.ts";

describe("a placeholder", () => {
  it.each([
    ...["xxxxxxxxxxxx", "sk-000000000000abc", "your-api-key-1A", "EXAMPLE7token", "change-me", "changeMe"],
    ...["CHANGE_ME", "dummy", "AKIA0123456789", "replace-with-key", "todo", "insertHere", "<redacted>"],
    ...[
      "ghp_abcdefghijklmnopqrstuvwxyz",
      "deadbeefdeadbeefdeadbeef",
      "key-fedcba9876543210",
      "aaaabbbbccccdddd",
    ],
  ])(
    "A placeholder is told by what it says, by runs of characters, or by one part over and over: %s",
    (value) => {
      expect(isPlaceholder(value)).toBe(true);
    },
  );

  it.each([
    ["five of a character", "aB3xxxxxQ9p"],
    ["six of a character among sixteen others", "aocqesgkbmxhdnfpxxxxxx"],
    ["such a word by chance in a long value", "q7Zk39xPvLm2wRt0aB1cD3eF5gH6iJ8kL4nM9otodo"],
    ["six line ends", "aB3\n\n\n\n\n\nQ9p"],
  ])("A placeholder is none with %s", (_, value) => expect(isPlaceholder(value)).toBe(false));

  it("A placeholder is one up to 40 characters", () => {
    const random = "q7Zk39xPvLm2wRt0aB1cD3eF5gH6iJ8kL4nM9o";
    expect([36, 37].map((length) => isPlaceholder(`todo${random.slice(0, length)}`))).toEqual([true, false]);
  });
});

describe("a random value", () => {
  it.each([
    ["characters of two kinds", "q7zk39xp", true],
    ["capital and small letters", "qZkXpvLm", true],
    ["capital letters and digits", "Q7ZK39XP", true],
    ["six different characters", "ab12cd12", true],
    ["five different characters", "ab12c212", false],
    ["small letters alone", "qzkxpvlm", false],
    ["digits alone", "70913824", false],
    ["capital letters and signs", "QZKX-PVLM", false],
    ["signs alone", "-_=+!?%&", false],
    ["too few characters", "q7zk39x", false],
    ["a placeholder", "your1A2B", false],
  ])("A random value has %s: %s -> %s", (_, value, expected) => {
    expect([looksMixed(value, 8), looksRandom(value, 8)]).toEqual([expected, expected]);
  });

  it("A random value is not made of words, which a mixed one may be", () => {
    for (const value of ["contentHeader2", "parseTheResponse1", "RETRY_ATTEMPTS_9"]) {
      expect(isWordLike(value), value).toBe(true);
      expect([looksMixed(value, 8), looksRandom(value, 8)], value).toEqual([true, false]);
    }
    for (const value of ["q7Zk39xPvLm2", "zqxjkvbw"]) expect(isWordLike(value), value).toBe(false);
  });
});

describe("a token", () => {
  it.each([
    ["ghs_hazard_statements_codes", true],
    ["sk_test_mockedStripeSecretKey", true],
    ["ASIAPACIFICSOUTHEAST", true],
    ["hvr.createTransformMatrix4x4FromQuaternion", true],
    ["PersonalAccessToken01245678900000000", true],
    ["sb_secret_q7Zk39xPvLm2wRt0aB1cD3eF", false],
    ["AIZQ7TXKPWMDVBLC", false],
    ["b1f0c93da7e2c5d8", false],
  ])("A token is of words by its pairs of letters, behind its beginning: %s -> %s", (token, expected) => {
    expect(isOfWords(token)).toBe(expected);
  });
});

describe("a name in code", () => {
  it.each([
    ["env.S3_KEY_V2", ["env", "S3", "KEY", "V2"]],
    ["k8s/ns1/secretRef2", ["k8s", "ns1", "secretRef2"]],
    ["pwd2Confirm", ["pwd2Confirm"]],
    ["Body:17", ["Body", "17"]],
  ])("A name in code is taken apart: %s", (value, parts) => expect(partsOfName(value)).toEqual(parts));

  it.each(["q7Zk39", "a12345", "pwd2Co", "pwd2confirm", "fooB", "S3x9", "1aB"])(
    "A name in code is not %s",
    (value) => {
      expect(partsOfName(value)).toBeUndefined();
    },
  );
});
