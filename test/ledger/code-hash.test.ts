import { describe, expect, it } from "vitest";
import { codeHash } from "../../src/ledger/code-hash.ts";

describe("the hash of code", () => {
  it("is the same however the code is indented and wrapped", () => {
    const code = "if (a) {\n  b();\n}";
    for (const same of ["if (a) { b(); }", "\tif (a) {\r\n\t\tb();\r\n\t}\r\n", "if(a){b();}"])
      expect(codeHash(same)).toBe(codeHash(code));
  });

  it("is another one for other code", () => {
    const codes = ["a = b", "a == b", "b = a", "a = B", ""];
    expect(new Set(codes.map(codeHash)).size).toBe(codes.length);
  });

  it("stays what it is from version to version, for comments hold it", () => {
    expect(codeHash("return total - 1;")).toBe("mYkwJ-8iZ7y9");
    expect(codeHash("")).toMatch(/^[\w-]{12}$/);
  });
});
