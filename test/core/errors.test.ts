import { describe, expect, it } from "vitest";
import { AppError, type ErrorCode, publicLine } from "../../src/core/errors.ts";
import { gitError } from "../../src/repo/git/git-error.ts";

describe("publicLine", () => {
  const folder = "/srv/hunkwise/mirrors/github.com/octo/shop.git";

  it.each([
    ["cannot write", `fatal: Unable to create '${folder}/shallow.lock': Permission denied`],
    ["finds no repository", `fatal: '${folder}' does not appear to be a git repository`],
    ["finds a damaged repository", `error: object file ${folder}/objects/aa/bb is empty\nfatal: bad object`],
    ["fails for a reason of its own", `fatal: ${folder}: something new`],
  ])("A public line names no folder of the machine when git %s", (_, stderr) => {
    const error = gitError("fetch", { exitCode: 128, stderr });

    expect(error.line).toContain(folder);
    expect(publicLine(error)).not.toContain("/srv");
    if (error.remedy) expect(publicLine(error)).toContain(error.remedy);
  });

  it("A public line names no folder when the data folder cannot be used", () => {
    const error = new AppError("data_folder_unusable", `The data folder '${folder}' cannot be used`, {
      remedy: "Make room",
    });

    expect(publicLine(error)).toBe("the data folder of Hunkwise cannot be used. Make room");
  });

  it("The public line of an error repeats no word of a model's provider, and not where it is", () => {
    const codes = ["failed", "unavailable", "rate_limited", "unauthorized", "refused"].map(
      (kind) => `model_${kind}` as ErrorCode,
    );
    for (const code of [...codes, "content_refused" as const])
      expect(publicLine(new AppError(code, "https://llm.internal/v1 failed (502): said"))).toMatch(
        /^The model(?:'s provider (?:refused|accepts)| could not be reached) [a-zA-Z ]+$/,
      );
  });

  it("The public line of an error is what GitHub or the configuration said", () => {
    const config = new AppError("config_invalid", ".github/hunkwise.yml is not YAML", { remedy: "Mend it" });

    expect(publicLine(config)).toBe(".github/hunkwise.yml is not YAML. Mend it");
    expect(publicLine(new Error(`ENOENT: ${folder}`))).toBe("an error in Hunkwise itself; see its log");
  });
});
