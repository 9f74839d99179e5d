import { describe, expect, it } from "vitest";
import { releaseOf } from "../scripts/release/notes.ts";

const changelog =
  "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n### Added\n- A thing.\n\n## [1.2.2]\n";

describe("a release", () => {
  it("A release has the notes of its section in CHANGELOG.md", () => {
    expect(releaseOf("1.2.3", { packageVersion: "1.2.3", changelog })).toEqual({
      notes: "### Added\n- A thing.",
    });
  });

  it.each([
    ["v1.2.3", "1.2.3", "'v1.2.3' is no version like 1.2.3"],
    ["1.2.3; id", "1.2.3", "'1.2.3; id' is no version like 1.2.3"],
    ["1.2.4", "1.2.3", "package.json says 1.2.3, not 1.2.4"],
    ["1.2.4", "1.2.4", "CHANGELOG.md has no section '## [1.2.4]'"],
    ["1.2.2", "1.2.2", "The section '## [1.2.2]' of CHANGELOG.md is empty"],
  ])("The release %s of a package %s is refused", (version, packageVersion, fault) => {
    expect(releaseOf(version, { packageVersion, changelog })).toEqual({
      fault: expect.stringContaining(fault),
    });
  });
});
