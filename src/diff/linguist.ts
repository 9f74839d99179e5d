/**
 * What `.gitattributes` say of one path in the words of GitHub's linguist (`linguist-generated`, `linguist-vendored`); null
 * where they say nothing. Maintainers mark files with them, and take back what linguist would conclude from a name
 * (github-linguist, docs/overrides.md); any value but `false` means yes there, and so it does here.
 */
export interface LinguistAttributes {
  generated: boolean | null;
  vendored: boolean | null;
}

/** The words of one attribute, as `git check-attr` prints its state, for {@link LinguistAttributes}. */
export function attributeValue(state: string): boolean | null {
  if (state === "unspecified") return null;
  return state !== "unset" && state !== "false";
}
