import fc from "fast-check";
import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import type { LiveSessions } from "../../src/pages/live-sessions.ts";
import { login, ownPath } from "../../src/pages/login.ts";

it.each([
  "/",
  "/reviews",
  "/reviews?outcome=failed&page=2",
  "/repositories/7/pulls/3?a=%2F%2Fevil.test",
  "/loginhistory",
  "/findings?q=%0d%0a",
])("The path to which a person returns after log-in is %s", (path) => {
  expect(ownPath(path)).toBe(path);
});

it.each([undefined, null, 7, ["/reviews"], "", "reviews", "//x", "/\\x", "/a#//x", "/a b", "/ä"])(
  "The path to which a person returns after log-in is / and not %j",
  (path) => {
    expect(ownPath(path)).toBe("/");
  },
);

it("The path to which a person returns after log-in is on this server for every browser, whatever was asked", () => {
  const tricky = fc.constantFrom(
    "/",
    "\\",
    "//",
    "..",
    ".",
    "\t",
    "\n",
    "\r",
    "@",
    ":",
    "%2f",
    "%5c",
    "?",
    "#",
  );
  const text = fc.array(fc.oneof(tricky, fc.string(), fc.constantFrom("evil.test", "https", "login")));
  fc.assert(
    fc.property(text, (parts) => {
      const asked = parts.join("");
      const to = ownPath(asked);
      expect(["/", asked]).toContain(to);
      const there = new URL(to, "https://hunkwise.test/login/callback?code=x");
      expect(there.origin).toBe("https://hunkwise.test");
      expect(to).toMatch(/^\/(?![/\\])[\x21-\x7e]*$/);
    }),
    { numRuns: 2_000 },
  );
});

/** The log-in alone, with a GitHub that takes every code but "bad". */
function loginPages() {
  let clock = 1_000_000;
  const exchanged: [code: string, verifier: string][] = [];
  const verifiers = new Map<string, string>();
  const live: LiveSessions = {
    start: () => "S".repeat(43),
    viewer: async () => null,
    end: () => {},
    endAllOf: () => {},
  };
  const warnings: unknown[] = [];
  const app = login({
    client: {
      authorizeUrl(state, verifier) {
        verifiers.set(state, verifier);
        return `https://github.test/authorize?state=${state}`;
      },
      async exchange(code, verifier) {
        exchanged.push([code, verifier]);
        if (code === "bad") throw new AppError("github_unauthorized", "incorrect_client_credentials");
        return "ghu_token";
      },
      account: async () => ({ id: 1, login: "octocat" }),
    },
    live,
    log: {
      warn: (line: unknown) => void warnings.push(line),
      error: (line: unknown) => void warnings.push(line),
    },
    now: () => clock,
  });
  const begin = async () => {
    const body = new URLSearchParams({ to: "/reviews" });
    const response = await app.request("/login", { method: "POST", body });
    const cookie = response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    return { cookie, state: /state=([\w-]+)/.exec(await response.text())?.[1] ?? "" };
  };
  const end = ({ cookie, state }: { cookie: string; state: string }, code = "abc") =>
    app.request(`/login/callback?code=${code}&state=${state}`, { headers: { cookie } });
  const wait = (ms: number) => {
    clock += ms;
  };
  return { begin, end, exchanged, verifiers, warnings, wait };
}

it("A log-in has a new state and verifier each time, of 256 bits, and proves with its own", async () => {
  const { begin, end, exchanged, verifiers } = loginPages();
  const [one, other] = [await begin(), await begin()];
  const all = [one.state, other.state, ...verifiers.values()];
  expect(new Set(all).size).toBe(4);
  for (const each of all) expect(each).toMatch(/^[\w-]{43}$/);
  expect((await end(other)).headers.get("location")).toBe("/reviews");
  expect((await end(one)).status).toBe(303);
  expect(exchanged).toEqual([
    ["abc", verifiers.get(other.state)],
    ["abc", verifiers.get(one.state)],
  ]);
});

it("A log-in is ended by nobody else, however many are begun or fail", async () => {
  const { begin, end } = loginPages();
  const first = await begin();
  for (let n = 0; n < 10_001; n++) await begin();
  for (let n = 0; n < 100; n++) await end(await begin(), "bad");
  expect((await end(first)).status).toBe(303);
});

it("A log-in counts once, for ten minutes, with the cookie as this process signed it", async () => {
  const { begin, end, exchanged, wait } = loginPages();
  const [one, late, other] = [await begin(), await begin(), await begin()];
  expect((await end(one)).status).toBe(303);
  const [name, value = ""] = other.cookie.split("=");
  const forged = `${name}=${value.replace("%2Freviews", "%2Ffindings")}`;
  const refused = [
    one,
    { ...other, state: late.state },
    { ...other, cookie: forged },
    { ...other, cookie: "" },
  ];
  for (const each of refused) expect((await end(each)).status).toBe(400);
  wait(600_000);
  expect((await end(late)).status).toBe(400);
  expect(exchanged).toHaveLength(1);
});

it("A log-in tells people that the server cannot ask GitHub, and the operator why", async () => {
  const { begin, end, warnings } = loginPages();
  const page = await end(await begin(), "bad");
  expect([page.status, page.headers.getSetCookie().join()]).toEqual([
    502,
    expect.not.stringContaining("S".repeat(43)),
  ]);
  expect(await page.text()).not.toContain("incorrect_client_credentials");
  expect(JSON.stringify(warnings)).toContain("github_unauthorized");
});
