import { describe, expect, it } from "vitest";
import { ChangeSplitter } from "../../src/git/patches.ts";

/** What the sink is given when the output comes in these pieces. */
function split(...pieces: string[]): { listings: string[]; patch: string } {
  const listings: string[] = [];
  let patch = "";
  const splitter = new ChangeSplitter({
    listing: (bytes) => listings.push(bytes.toString()),
    patch: (bytes) => {
      if (listings.length === 0) throw new Error("a patch came before the listing");
      patch += bytes.toString();
    },
  });
  for (const piece of pieces) splitter.push(Buffer.from(piece));
  splitter.end();
  return { listings, patch };
}

describe("the output of one comparison", () => {
  const listing =
    ":100644 100644 aaa bbb M\0a\0:100644 100644 ccc ddd R050\0b\0c\x001\t2\ta\x003\t4\t\0b\0c\0";
  const patch = "diff --git a/a b/a\n@@ -1 +1 @@\n-\0\0\n+x\n";
  const whole = `${listing}\0${patch}`;

  it("is told apart at whatever byte it is cut", () => {
    for (let at = 0; at <= whole.length; at++)
      expect([at, split(whole.slice(0, at), whole.slice(at))]).toEqual([at, { listings: [listing], patch }]);
  });

  it("is told apart when it comes byte by byte", () => {
    expect(split(...whole)).toEqual({ listings: [listing], patch });
  });

  it("is an empty listing when nothing changed", () => {
    expect(split()).toEqual({ listings: [""], patch: "" });
  });
});
