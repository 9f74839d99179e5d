import { expect, it } from "vitest";
import { loadRepoConfig } from "../../src/config/load-config.ts";
import { AppError } from "../../src/core/errors.ts";
import { configuration } from "../../src/pages/configuration.ts";
import type { Viewer, VisibleRepository } from "../../src/pages/viewer.ts";
import { appFor, operator, parsePage, person } from "./rendered.ts";

const shop: VisibleRepository = { installation: 1, id: 7, owner: "octo", name: "shop", mayWrite: false };
const bank = { ...shop, id: 8, name: "bank" };

/** @param files by repository and path */
function pages(viewer: Viewer, files: Record<string, string>, fails?: AppError) {
  const asked: string[] = [];
  const clock = { now: 0 };
  const routes = configuration({
    now: () => clock.now,
    async loadConfiguration({ owner, name }) {
      asked.push(`${owner}/${name}`);
      if (fails) throw fails;
      return loadRepoConfig(async (path) => files[`${name} ${path}`], {
        readOrganization: async (path) => files[`.github ${path}`],
      });
    },
  });
  const app = appFor(viewer).route("/", routes);
  const get = async (address: string) => {
    const answer = await app.request(address);
    return { status: answer.status, ...parsePage(await answer.text()) };
  };
  return { asked, clock, get };
}

it("The page Configuration shows each value with the file that it comes from", async () => {
  const { get } = pages(person([shop, bank]), {
    "shop .github/hunkwise.yml": "effort: high\n",
    ".github .github/hunkwise.yml": "policy:\n  enforce: [minimum_severity]\nminimum_severity: medium\n",
  });
  const { text } = await get("/configuration?repository=octo/shop");
  expect(text).toContain(
    "the default branch of octo/shop, joined with the organization's file, which has a policy",
  );
  expect(text).toMatch(/effort: high # \.github\/hunkwise\.yml/);
  expect(text).toMatch(/minimum_severity: medium # organization, enforced/);
  expect(text).toMatch(/max_comments: null # default/);
});

it("The page Configuration asks GitHub once a minute for each repository, however often somebody looks", async () => {
  const { asked, clock, get } = pages(person([shop, bank]), {});
  const look = (name: string) => get(`/configuration?repository=octo/${name}`);
  const many = await Promise.all(Array.from({ length: 30 }, () => look("shop")));
  expect(new Set(many.map(({ text }) => text)).size).toBe(1);
  expect(many[0]?.text).toContain("effort: medium");
  await look("bank");
  clock.now += 59_999;
  await look("shop");
  expect(asked).toEqual(["octo/shop", "octo/bank"]);
  clock.now += 1;
  await look("shop");
  expect(asked).toEqual(["octo/shop", "octo/bank", "octo/shop"]);
});

it("The page Configuration asks GitHub for nothing until a repository is chosen, unless there is only one", async () => {
  const several = pages(person([shop, bank]), {});
  expect((await several.get("/configuration")).text).toContain("octo/bank");
  expect(several.asked).toEqual([]);
  const one = pages(person([shop]), {});
  expect((await one.get("/configuration")).text).toContain(
    "defaults, because there is no .github/hunkwise.yml",
  );
  expect(one.asked).toEqual(["octo/shop"]);
});

it("The page Configuration of a repository that GitHub does not show is not there, also for an operator", async () => {
  for (const viewer of [person([shop]), operator([shop]), operator()]) {
    const { get, asked } = pages(viewer, {});
    expect((await get("/configuration?repository=octo/secret")).status).toBe(404);
    expect(asked).toEqual([]);
  }
});

it("The page Configuration says why a configuration is refused, and that GitHub does not answer", async () => {
  const refused = pages(person([shop]), { "shop .github/hunkwise.yml": "efort: high\n" });
  expect((await refused.get("/configuration")).text).toContain(
    "The configuration is refused, so no model reviews",
  );
  const silent = pages(
    person([shop]),
    {},
    new AppError("github_failed", "GitHub does not answer", { remedy: "Wait." }),
  );
  expect((await silent.get("/configuration")).text).toMatch(
    /could not be read from GitHub:\s*GitHub does not answer\.\s*Wait\./,
  );
});

it("The page Configuration shows hostile text as text, and no secret", async () => {
  const key = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
  const { get } = pages(person([shop]), {
    "shop .github/hunkwise.yml": `instructions:\n  - path: "**"\n    text: "</pre><script>x()</script> \u202e ${key}"\n`,
  });
  const page = await get("/configuration");
  expect(page.elements.filter(({ tagName }) => tagName === "script")).toEqual([]);
  expect(page.text).toContain("</pre><script>x()</script>");
  expect(page.text).not.toContain("\u202e");
  expect(page.text).not.toContain(key);
});
