import { describe, expect, it } from "vitest";
import { pullPlace } from "../../../src/pull/github/references.ts";

const shop = { protocol: "https", owner: "octo-org", name: "shop", number: 7 };

describe("The place of a pull request", () => {
  it.each([
    ["https://github.com/octo-org/shop/pull/7", "github.com"],
    ["https://github.com/octo-org/shop/pull/7/files#diff-1", "github.com"],
    ["https://GHE.example:8443/octo-org/shop/pull/7?w=1", "ghe.example:8443"],
  ])("The address of a page names the place: %s", (address, host) => {
    expect(pullPlace(address, null)).toEqual({ ...shop, host });
  });

  it.each([
    ["https://github.com/octo-org/shop.git", "github.com"],
    ["https://user:secret@github.com/octo-org/shop", "github.com"],
    ["git@github.com:octo-org/shop.git", "github.com"],
    ["ssh://git@ghe.example:2222/octo-org/shop.git", "ghe.example"],
    ["https://ghe.example/octo-org/shop/", "ghe.example"],
  ])("The remote names the place for a number: %s", (remote, host) => {
    for (const number of ["7", "#7"]) expect(pullPlace(number, remote)).toEqual({ ...shop, host });
  });

  it("The place keeps dots in names", () => {
    expect(pullPlace("1", "git@github.com:octo/shop.js.git")).toMatchObject({ name: "shop.js" });
  });

  it.each([
    "main",
    "0",
    "7; id",
    "-7",
    "http://github.com/octo-org/shop/pull/7",
    "https://github.com/octo-org/shop/issues/7",
    "https://github.com@evil.example/octo-org/shop/pull/7",
    "https://github.com/octo-org/../shop/pull/7",
    "file:///octo-org/shop/pull/7",
    "ext::sh -c id/pull/7",
  ])("The text %s names no place", (named) => {
    expect(() => pullPlace(named, "https://github.com/octo-org/shop")).toThrow();
  });

  it.each([
    null,
    "",
    "/srv/shop.git",
    "../shop",
    "file:///srv/shop",
    "https://github.com/shop",
    "-oProxyCommand=id:a/b",
  ])("A number has no place at %s", (remote) => {
    expect(() => pullPlace("7", remote)).toThrow(/origin does not say where/);
  });
});
