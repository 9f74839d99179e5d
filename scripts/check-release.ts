/**
 * `node scripts/check-release.ts VERSION`: whether this commit may be released under that version. Prints what is wrong, and exits with 1;
 * otherwise prints the notes of the release.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What package.json and CHANGELOG.md say. */
export interface Written {
  packageVersion: string;
  changelog: string;
}

/** The changes of a version as CHANGELOG.md lists them, or what is wrong. */
export function releaseOf(
  version: string,
  { packageVersion, changelog }: Written,
): { notes: string } | { fault: string } {
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/.test(version))
    return { fault: `'${version}' is no version like 1.2.3` };
  if (version !== packageVersion)
    return { fault: `package.json says ${packageVersion}, not ${version}: change it in a commit first` };
  const sections = changelog.split(/^## /m).slice(1);
  const own = sections.find((one) => one.startsWith(`[${version}]`) || one.startsWith(`${version}\n`));
  if (own === undefined)
    return { fault: `CHANGELOG.md has no section '## [${version}]': rename 'Unreleased' in a commit first` };
  const notes = own.slice(own.indexOf("\n")).trim();
  return notes === "" ? { fault: `The section '## [${version}]' of CHANGELOG.md is empty` } : { notes };
}

if (import.meta.main) {
  const read = (name: string) => readFileSync(join(import.meta.dirname, "..", name), "utf8");
  const { version: packageVersion } = JSON.parse(read("package.json"));
  const found = releaseOf(process.argv[2] ?? "", { packageVersion, changelog: read("CHANGELOG.md") });
  if ("fault" in found) {
    process.stderr.write(`${found.fault}.\n`);
    process.exitCode = 1;
  } else process.stdout.write(`${found.notes}\n`);
}
