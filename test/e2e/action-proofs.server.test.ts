import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { findOnPath } from "../../src/repo/git/run-process.ts";
import { sandboxFor } from "../sandbox/sandbox.ts";
import type { FakeOpenAi } from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";
import { alsoProving, emptyCart } from "../support/proving-model.ts";
import { type ActionCase, fork, onAction } from "./action-fixture.ts";
import { finish, patient, turn } from "./conformance-fixture.ts";

const { sandbox, skipped } = await sandboxFor("that the Action proves findings");

const { base, head, finding, test } = emptyCart;
const reported = turn({ name: "report_finding", arguments: finding }, finish);
const config = (text: string) => ({ ".github/hunkwise.yml": `prove: { ${text} }\n` });

const change = (settings = "enabled: true") => ({
  base: { ...base, ...config(settings) },
  head,
  script: alsoProving(() => reported, { test }),
});

/** Everything that a model was asked. */
const askedOf = ({ requests }: FakeOpenAi) =>
  requests.map(({ body }) => JSON.stringify(body.messages)).join("\n");
const isProved = ({ requests }: FakeOpenAi) =>
  requests.some(({ body }) => body.tools?.some((one) => one.function.name === "try_test"));
const summaryOf = ({ pull }: ActionCase) => pull.comments.map(({ body }) => body).join("\n");

describe.skipIf(!sandbox)(`the Action for a pull request of the same repository${skipped}`, patient, () => {
  it("The Action proves a finding, and the test's process sees nothing of the job's environment", () => {
    const run = [
      { files: "*.proof.test.js", command: "env; cat /proc/*/environ | tr '\\0' '\\n'; node {file}" },
    ];
    return onAction(change(`enabled: true, run: ${JSON.stringify(run)}`), async (one) => {
      const secrets = {
        GITHUB_TOKEN: "ghs-of-the-job",
        ACTIONS_RUNTIME_TOKEN: "runtime-token-of-the-job",
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: "identity-of-the-job",
        ACTIONS_ID_TOKEN_REQUEST_URL: "https://identity.example",
        DEPLOY_KEY: "deploy-key-of-the-job",
      };
      const done = await one.on("pull_request", "opened", { env: secrets });
      expect({ code: done.code, log: done.log }).toMatchObject({ code: 0 });
      const seen = askedOf(one.model);
      expect(seen).toContain("## merge base: passed (exit code 0)");
      expect(seen).toContain("## head: failed (exit code 1)");
      // What the command printed is there, so that the rest says something.
      expect(seen).toContain("HUNKWISE_RUNNER=");
      for (const name of Object.keys(secrets)) expect(seen).not.toContain(`${name}=`);
      for (const value of Object.values(secrets)) expect(seen).not.toContain(value);
      expect(seen).not.toMatch(/GITHUB_\w+=|INPUT_\w+=|RUNNER_TEMP=|ACTIONS_\w+=|OPENAI_\w+=/);
      expect(summaryOf(one)).not.toContain("No finding was proved");
      const [comment] = one.pull.reviewComments;
      expect(comment?.body).toContain("Regression shown");
      expect(comment?.body).toContain(test.path);
      expect(comment?.body).toContain("assert.equal(total([]), 0);");
      expect(Object.keys(done.files).filter((name) => !name.startsWith("hunkwise/"))).toEqual([]);
    });
  });
});

describe.concurrent("the Action for any other event", patient, () => {
  it("The Action does not prove on pull_request_target, and says so", () =>
    onAction(change(), async (one) => {
      await one.on("pull_request_target", "opened");
      expect(isProved(one.model)).toBe(false);
      expect(one.pull.reviewComments).toHaveLength(1);
      expect(summaryOf(one)).toContain(
        "No finding was proved: proofs do not run on pull\\_request\\_target.",
      );
    }));

  it("The Action does not prove for a comment, and says so", () =>
    onAction(change(), async (one) => {
      await one.comment("octocat", "/review");
      expect(isProved(one.model)).toBe(false);
      expect(one.pull.reviewComments).toHaveLength(1);
      expect(summaryOf(one)).toContain("No finding was proved: proofs do not run on issue\\_comment.");
    }));

  it("The Action does not prove for a labeled fork, nor in the fork's own workflow", () =>
    onAction({ ...change(), ...fork }, async (one) => {
      await one.on("pull_request", "opened");
      expect(one.model.requests).toEqual([]);
      one.people.addCollaborator(one.repository, "octocat", "write");
      await one.comment("octocat", "/review");
      expect(isProved(one.model)).toBe(false);
      expect(summaryOf(one)).toContain("No finding was proved: proofs do not run on issue\\_comment.");
    }));

  it.each(["workflow_run", "workflow_dispatch"])(
    "The Action does not prove a pull request that an input names: %s",
    (event) =>
      onAction(change(), async (one) => {
        const inputs = { "pull-request": String(one.pull.number) };
        await one.replay(event, { action: "completed" }, { inputs });
        expect(isProved(one.model)).toBe(false);
        expect(one.pull.reviewComments).toHaveLength(1);
        expect(summaryOf(one).replaceAll("\\", "")).toContain(
          `No finding was proved: proofs do not run on ${event}.`,
        );
      }),
  );

  it("The Action does not prove another pull request than the event's, which may be a fork's", () =>
    onAction(change(), async (one) => {
      const payload = await one.capture("opened", one.pull.author.login);
      const inputs = { "pull-request": String(one.pull.number) };
      await one.replay("pull_request", { ...payload, number: one.pull.number + 1 }, { inputs });
      expect(isProved(one.model)).toBe(false);
      expect(summaryOf(one)).toContain("proofs do not run for a pull request that an input names");
    }));

  it("The Action says nothing of proofs that the base's configuration does not enable", () =>
    onAction({ ...change("enabled: false"), head: { ...head, ...config("enabled: true") } }, async (one) => {
      await one.on("pull_request_target", "opened");
      expect(isProved(one.model)).toBe(false);
      expect(summaryOf(one)).not.toContain("No finding was proved");
    }));
});

describe("the Action on a runner without a sandbox", patient, () => {
  afterEach(() => vi.unstubAllEnvs());

  it("Without a sandbox the Action reviews, and says what is missing and where the steps are", async () => {
    using folder = new TempFolder("action-without-sandbox");
    const bin = join(folder.path, "bin");
    mkdirSync(bin);
    for (const name of ["git", "rg", "bash", "sh", "env", "dirname", "uname"]) {
      const found = await findOnPath(name, process.env.PATH ?? "");
      if (found) symlinkSync(found, join(bin, name));
    }
    vi.stubEnv("PATH", bin);
    await onAction(change(), async (one) => {
      const done = await one.on("pull_request", "opened");
      expect({ code: done.code, log: done.log }).toMatchObject({ code: 0 });
      expect(one.pull.reviewComments).toHaveLength(1);
      expect(summaryOf(one)).toMatch(
        /No finding was proved: bubblewrap \(bwrap\) is not on PATH. docs\/action.md has the steps/,
      );
    });
  });
});
