import { type ChildProcess, spawn } from "node:child_process";
import { createPrivateKey } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { TempFolder } from "../support/git-repo.ts";
import { appKeys } from "../support/github-double/scenario.ts";
import { type Canary, makeCanary } from "./canaries.ts";
import type { Places } from "./corpus/places.ts";

/** A machine with something to steal in every place where servers have it. */
export interface Planted extends Disposable {
  /** All but those of the database and of the neighbour, which are put where they belong once there is such a place. */
  canaries: Canary[];
  places: Pick<Places, "home" | "keyFile" | "beside" | "program" | "sentinels">;
  /** What a server is started with: its home, its key as a file, and secrets of others in its environment. */
  env: Record<string, string>;
  /** What was run or written by what should have been data. */
  sentinels(): string[];
}

export function plantMachine(): Planted {
  const folder = new TempFolder("planted");
  const at = (name: string) => join(folder.path, name);
  const canaries: Canary[] = [];
  const plant = (name: string) => {
    const canary = makeCanary(name);
    canaries.push(canary);
    return canary.value;
  };
  plantHome(at("home"), plant);
  const { privateKey } = appKeys();
  write(at("keys/app.private-key.pem"), privateKey);
  canaries.push(...keyCanaries(privateKey));
  mkdirSync(at("sentinels"));
  // Named without a word that makes a path to it an option of anything.
  write(at("bin/program"), `#!/bin/sh\necho "$0 $*" >> '${at("sentinels")}/program'\ncat\n`);
  chmodSync(at("bin/program"), 0o755);
  const beside = processBeside(plant);
  return {
    canaries,
    places: {
      home: at("home"),
      keyFile: at("keys/app.private-key.pem"),
      beside: beside.pid ?? 0,
      program: at("bin/program"),
      sentinels: at("sentinels"),
    },
    env: {
      HOME: at("home"),
      PRIVATE_KEY: "",
      PRIVATE_KEY_PATH: at("keys/app.private-key.pem"),
      AWS_SECRET_ACCESS_KEY: plant("the environment: AWS"),
      GITHUB_TOKEN: plant("the environment: a token"),
      DATABASE_PASSWORD: plant("the environment: a password"),
    },
    sentinels: () => readdirSync(at("sentinels")),
    [Symbol.dispose]() {
      beside.kill("SIGKILL");
      folder.dispose();
    },
  };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Keys, passwords and settings; those of git and ripgrep would also be sent or show if they were ever read. */
function plantHome(home: string, plant: (name: string) => string): void {
  const key = "OPENSSH PRIVATE KEY";
  const files: Record<string, (value: string) => string> = {
    ".ssh/id_rsa": (value) => `-----BEGIN ${key}-----\n${value}\n-----END ${key}-----\n`,
    ".ssh/config": (value) => `Host ${value}\n`,
    ".aws/credentials": (value) => `[default]\naws_secret_access_key = ${value}\n`,
    ".netrc": (value) => `default login octocat password ${value}\n`,
    ".gitconfig": (value) => `[http]\n\textraHeader = X-Home: ${value}\n\tuserAgent = ${value}\n`,
    ".config/git/config": (value) => `[http]\n\textraHeader = X-Config: ${value}\n`,
    ".git-credentials": (value) => `http://octocat:${value}@127.0.0.1\n`,
    ".npmrc": (value) => `//npm.example.com/:_authToken=${value}\n`,
  };
  for (const [path, content] of Object.entries(files)) write(join(home, path), content(plant(path)));
}

/** A run of each encoding of the key: what its file holds, and what the server makes of it. */
function keyCanaries(pem: string): Canary[] {
  const body = (text: string) => text.replace(/-----[^-]+-----|\s/g, "");
  const other = createPrivateKey(pem).export({ type: "pkcs8", format: "pem" }).toString();
  // All keys begin alike.
  return [
    { name: "the App's key", value: body(pem).slice(60) },
    { name: "the App's key as PKCS #8", value: body(other).slice(120) },
  ];
}

/** A program of the same user, with one secret in its arguments and another in its environment. */
function processBeside(plant: (name: string) => string): ChildProcess {
  const wait = "setInterval(() => {}, 1_000_000)";
  return spawn(process.execPath, ["-e", wait, "--", `--password=${plant("arguments of a process")}`], {
    env: { PASSWORD: plant("environment of a process") },
    stdio: "ignore",
  });
}
