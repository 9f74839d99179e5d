import { describe, expect, it } from "vitest";
import { artifactsReach } from "../../../src/pull/github/allowlist.ts";
import { isStore } from "../../../src/pull/github/transport.ts";

const [github, enterprise] = ["https://api.github.com", "https://git.example.org/api/v3"];
const may = (address: string, api = github) => isStore(new URL(address), new URL(api));

describe("A file in GitHub's store", () => {
  it("A file is fetched over https from the hosts that GitHub documents", () => {
    expect(may("https://productionresultssa4.blob.core.windows.net/actions-results/a?sig=b")).toBe(true);
    expect(may("https://results-receiver.actions.githubusercontent.com/a")).toBe(true);
    expect(may("https://git.example.org/_services/artifacts/a", enterprise)).toBe(true);
    expect(may("https://pipelines.git.example.org/a", enterprise)).toBe(true);
    expect(may("http://127.0.0.1:4000/a", "http://127.0.0.1:3000/api/v3")).toBe(true);
  });

  it.each([
    "http://productionresultssa4.blob.core.windows.net/a",
    "https://blob.core.windows.net.example.org/a",
    "https://evilblob.core.windows.net/a",
    "https://me:pass@productionresultssa4.blob.core.windows.net/a",
    "https://169.254.169.254/latest/meta-data",
    "http://localhost:9200/",
    "https://raw.githubusercontent.com/a",
    "https://github.com/a",
    "https://example.org/a",
    "file:///etc/passwd",
    "blob:https://productionresultssa4.blob.core.windows.net/a",
    "data:text/plain,a",
  ])("A file is not fetched from %s", (address) => {
    expect(may(address)).toBe(false);
    expect(may(address, enterprise)).toBe(false);
  });

  it("A file is fetched without encryption only if the API of the enterprise server has none", () => {
    expect(may("http://git.example.org/a", enterprise)).toBe(false);
    expect(may("https://evil-git.example.org/a", enterprise)).toBe(false);
  });
});

describe("The token that reads artifacts", () => {
  const reach = artifactsReach({ owner: "octo", repo: "shop", id: 7 });
  const ask = (method: string, path: string) => () =>
    reach.check({ method, path, query: "?per_page=100", body: undefined });

  it("The token reads runs of a workflow, their artifacts, and one artifact", () => {
    for (const path of ["workflows/lint.yml/runs", "runs/1/artifacts", "artifacts/1/zip"]) {
      expect(ask("GET", `/repos/octo/shop/actions/${path}`)).not.toThrow();
      expect(ask("GET", `/repositories/7/actions/${path}`)).not.toThrow();
    }
  });

  it.each([
    ["GET", "/repos/octo/shop/actions/secrets"],
    ["GET", "/repos/octo/shop/actions/runs/1/logs"],
    ["GET", "/repos/octo/other/actions/artifacts/1/zip"],
    ["GET", "/repos/octo/shop/actions/workflows/..%2f..%2fsecrets/runs"],
    ["DELETE", "/repos/octo/shop/actions/artifacts/1/zip"],
    ["POST", "/repos/octo/shop/actions/workflows/lint.yml/dispatches"],
  ])("The token may not send %s %s", (method, path) => {
    expect(ask(method, path)).toThrow("not an allowed request");
  });
});
