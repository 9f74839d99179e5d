import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { run } from "../scripts/release/program.ts";
import { TempFolder } from "./support/git-repo.ts";

const root = join(import.meta.dirname, "..");
const folder = new TempFolder("release");
afterAll(() => folder.dispose());

it("Two people with other settings make the same files of a release from a commit, byte for byte", () => {
  const settings = join(folder.path, "gitconfig");
  writeFileSync(settings, "[i18n]\n\tcommitEncoding = latin1\n");
  const sums = [
    { umask: "022", env: {} },
    { umask: "027", env: { GIT_CONFIG_GLOBAL: settings } },
  ].map(({ umask, env }) => {
    const clone = join(folder.path, umask);
    const steps = `umask ${umask}; git clone --quiet "$0" "$1"; cd "$1"; npm ci --prefer-offline; npm run -s release -- --make`;
    run("sh", ["-ec", steps, root, clone], { env });
    return readFileSync(join(clone, "release/SHA256SUMS"), "utf8");
  });
  expect(sums[0]).toMatch(/^[0-9a-f]{64} {2}hunkwise-[\d.]+\.tgz$/m);
  expect(sums[1]).toBe(sums[0]);
});
