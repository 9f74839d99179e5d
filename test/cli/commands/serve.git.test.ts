import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeOpenAi } from "../../support/fake-openai.ts";
import { TempFolder } from "../../support/git-repo.ts";
import { type CliRun, runCli } from "../../support/run-cli.ts";

let folder: TempFolder;
let app: Record<string, string>;

beforeAll(() => {
  folder = new TempFolder("serve");
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  app = { APP_ID: "1", PRIVATE_KEY: privateKey, WEBHOOK_SECRET: "a-secret-of-some-length" };
});
afterAll(() => folder.dispose());

const common = () => ({
  HUNKWISE_DATA_DIR: join(folder.path, "data"),
  GHE_HOST: "127.0.0.1:9",
  GHE_PROTOCOL: "http",
  PORT: "0",
});

/** Starts a server, calls `then` with the first log line that matches, and ends it with SIGTERM. */
async function serving(
  args: readonly string[],
  env: Record<string, string>,
  ready: RegExp,
  then: (line: string) => Promise<void> = async () => {},
): Promise<CliRun> {
  let failure: unknown;
  const run = await runCli(args, {
    env,
    onStart(child) {
      let text = "";
      let called = false;
      child.stderr?.on("data", (chunk: Buffer) => {
        text += chunk;
        const line = text.split("\n").find((one) => ready.test(one));
        if (line === undefined || called) return;
        called = true;
        then(line)
          .catch((error: unknown) => {
            failure = error;
          })
          .finally(() => child.kill("SIGTERM"));
      });
    },
  });
  if (failure) throw failure;
  return run;
}

describe("The server process", () => {
  it("The server shows the setup page if there is no App, and ends on SIGTERM", async () => {
    const run = await serving(["serve"], common(), /There is no GitHub App yet/, async (line) => {
      const [url = ""] = /http:\/\/localhost:\d+\S*/.exec(line) ?? [];
      const page = await fetch(url);
      expect(page.status).toBe(200);
      expect(await page.text()).toMatch(/GitHub App/);
    });
    expect({ code: run.code, signal: run.signal, stdout: run.stdout }).toEqual({
      code: 0,
      signal: null,
      stdout: "",
    });
  });

  it("The server says that the port of the metrics is taken before anyone creates an App", async () => {
    await using other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const run = await runCli(["serve"], { env: { ...common(), HUNKWISE_METRICS_PORT: `${port}` } });
    expect({ code: run.code, stderr: run.stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /Cannot listen on 127\.0\.0\.1.* set HUNKWISE_METRICS_PORT to a port, and HUNKWISE_METRICS_HOST/,
      ),
    });
    expect(run.stderr).not.toContain("There is no GitHub App yet");
  });

  it("The server asks the model for the setup page, as doctor does, and says that it answers", async () => {
    const calls = [2, 20].map((a) => ({ name: "add_numbers", arguments: { a, b: 3 } }));
    await using endpoint = await startFakeOpenAi({ script: [{ tool_calls: calls }] });
    const model = { OPENAI_BASE_URL: endpoint.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "gpt-x" };
    const run = await serving(["serve"], { ...common(), ...model }, /The model: /, async (line) => {
      expect(line).toContain("gpt-x answers");
    });
    expect({ code: run.code, signal: run.signal }).toEqual({ code: 0, signal: null });
    expect(endpoint.requests).toHaveLength(1);
    expect(endpoint.complaints).toEqual([]);
  });

  it("The server of an App works in the same process, and drains on SIGTERM", async () => {
    const run = await serving(["serve"], { ...common(), ...app }, /Listening on port/, async (line) => {
      const { port } = JSON.parse(line) as { port: number };
      const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
      expect(ready.status).toBe(200);
      const unsigned = await fetch(`http://127.0.0.1:${port}/api/github/webhooks`, {
        method: "POST",
        body: "{}",
      });
      expect(unsigned.status).toBeGreaterThanOrEqual(400);
    });
    expect({ code: run.code, signal: run.signal, stdout: run.stdout }).toEqual({
      code: 0,
      signal: null,
      stdout: "",
    });
    expect(run.stderr).toMatch(/"message":"Stopping"/);
    expect(run.stderr).toMatch(/No model is configured/);
    expect(run.stderr).not.toContain(app.WEBHOOK_SECRET);
  });

  it("A worker works alone, and ends on SIGTERM", async () => {
    const run = await serving(["worker"], { ...common(), ...app }, /jobs at a time/);
    expect({ code: run.code, signal: run.signal }).toEqual({ code: 0, signal: null });
  });
});
