import { globSync } from "node:fs";

/** The repository on GitHub that package.json names. */
export interface Repository {
  owner: string;
  /** `https://github.com/OWNER/hunkwise`. */
  page: string;
}

/** The name of the repository. Texts name it together with its owner, and this part is what they are found by. */
const NAME = "hunkwise";

/** Stands for the owner in package.json and in all texts until there is one. */
const placeholder = "OWNER";

/** Throws if the address is not that of a repository `hunkwise` on GitHub: the texts would lead elsewhere. */
export function repositoryOf({ repository }: { repository: { url: string } }): Repository {
  const [, owner] = /^git\+https:\/\/github\.com\/([\w-]+)\/hunkwise\.git$/.exec(repository.url) ?? [];
  if (!owner)
    throw new Error(`${repository.url} in package.json is not git+https://github.com/X/${NAME}.git`);
  return { owner, page: `https://github.com/${owner}/${NAME}` };
}

/** Files whose text names the repository: what people read, and what GitHub and registries read of us. */
export const textsOf = (root: string): string[] =>
  globSync(
    [
      "*.md",
      "*.{json,yml,yaml,txt}",
      ".pre-commit-hooks.yaml",
      "{docs,deploy,.devcontainer,scripts/release}/**",
      ".github/**",
    ],
    {
      cwd: root,
      withFileTypes: true,
      exclude: (entry) => /^(node_modules|package-lock\.json|figures|images)$/.test(entry.name),
    },
  )
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath.slice(root.length + 1)}/${entry.name}`.replace(/^\//, ""))
    .filter((path) => !/\.(png|svg|gif|ico|ts|sh)$/.test(path));

/**
 * A text with the owner of the repository wherever the repository is named: its address, `uses: OWNER/hunkwise@COMMIT`, the image, the name
 * in the MCP Registry, and `@OWNER` in CODEOWNERS. The addresses are found whoever is named there, the rest by the owner before.
 */
export function withOwner(text: string, { owner }: Repository, before: string): string {
  const image = owner === placeholder ? owner : owner.toLowerCase();
  const named = (one: string) => new RegExp(`(?<![\\w@.-])${one}(?=/${NAME}\\b)|(?<=\\s@)${one}\\b`, "g");
  return text
    .replaceAll(named(before), owner)
    .replaceAll(named(placeholder), owner)
    .replaceAll(/(?<=\bgithub(?:usercontent)?\.com\/|\bio\.github\.)[\w-]+(?=\/hunkwise\b)/g, owner)
    .replaceAll(/(?<=\bghcr\.io\/)[\w-]+(?=\/hunkwise\b)/g, image);
}
