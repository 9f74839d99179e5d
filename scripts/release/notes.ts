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
