import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { environmentDocs, readEnv } from "../../src/config/env.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (name: string) => readFileSync(join(root, name), "utf8");

interface Service {
  image?: string;
  profiles?: string[];
  command?: string[];
  environment?: Record<string, string | number>;
  env_file?: string;
  volumes?: string[];
  ports?: string[];
  init?: boolean;
  stop_grace_period?: string;
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string; required: boolean }>;
  deploy?: { replicas: number };
}
const text = read("compose.yml");
const compose: { services: Record<string, Service>; volumes: Record<string, null> } = parse(text, {
  merge: true,
});
const { hunkwise, worker, postgres } = compose.services as Record<
  "hunkwise" | "worker" | "postgres",
  Service
>;

describe("compose.yml", () => {
  it("starts one service by itself, and Postgres with two workers where their profile is asked for", () => {
    const byDefault = Object.entries(compose.services).filter(([, { profiles }]) => !profiles);
    expect(byDefault.map(([name]) => name)).toEqual(["hunkwise"]);
    expect([worker.profiles, postgres.profiles]).toEqual([["postgres"], ["postgres"]]);
    expect(worker.deploy?.replicas).toBe(2);
    expect(worker.command?.at(-1)).toBe("worker");
  });

  it("sets variables alone that Hunkwise knows, to values that it takes", () => {
    const known = new Set(environmentDocs.map(({ name }) => name));
    for (const { environment = {} } of [hunkwise, worker]) {
      expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
      const values = Object.entries(environment).map(([name, value]) => [name, String(value)]);
      expect(readEnv(Object.fromEntries(values))).toMatchObject({ dataDir: "/data", metricsPort: 9464 });
    }
  });

  it("holds no secret: passwords come from .env, and without one Postgres does not start", () => {
    expect(postgres.environment?.POSTGRES_PASSWORD).toBe(`\${POSTGRES_PASSWORD:-}`);
    const settings = text.replace(/^#.*$/gm, "");
    expect(settings).not.toMatch(/postgres(ql)?:\/\/|PRIVATE_KEY|WEBHOOK_SECRET|API_KEY/);
    expect([hunkwise.env_file, worker.env_file]).toEqual([".env", ".env"]);
  });

  it("has everybody wait for a Postgres that answers, where there is one", () => {
    expect(postgres.image).toMatch(/^postgres:\d+$/);
    expect(postgres.healthcheck?.test).toContain("pg_isready");
    const wanted = { postgres: { condition: "service_healthy", required: false } };
    expect([hunkwise.depends_on, worker.depends_on]).toEqual([wanted, wanted]);
  });

  it("waits longer for a stop than running jobs may take to hand themselves back", () => {
    const { graceMs } = readEnv({});
    for (const { stop_grace_period: period = "" } of [hunkwise, worker]) {
      expect(period).toMatch(/^\d+s$/);
      expect(Number.parseInt(period, 10) * 1_000).toBeGreaterThan(graceMs);
    }
  });

  it("publishes its ports to this machine alone, and keeps data where it is declared", () => {
    expect(hunkwise.ports?.every((port) => port.startsWith("127.0.0.1:"))).toBe(true);
    expect(worker.ports).toBeUndefined();
    expect(postgres.ports).toBeUndefined();
    const named = [...(hunkwise.volumes ?? []), ...(postgres.volumes ?? [])].map((one) => one.split(":")[0]);
    expect(named.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
    // Workers do not share a folder: the volume of each has no name.
    expect(worker.volumes).toEqual(["/data"]);
  });

  it("has what a review leaves behind reaped", () => {
    expect([hunkwise.init, worker.init]).toEqual([true, true]);
  });
});

describe("the image", () => {
  it("offers the ports that compose.yml publishes, and runs node itself, which hears the signals", () => {
    const dockerfile = read("Dockerfile");
    expect(dockerfile).toMatch(/^EXPOSE 3000 9464$/m);
    expect(dockerfile).toMatch(/^CMD \["node", "dist\/cli.js", "serve"\]$/m);
    expect(dockerfile).toMatch(/^USER node$/m);
  });
});
