const testName =
  /(?:^|[._-])(?:test|tests|spec|specs|e2e|cy)\.[^./]+$|^test_[^/]*\.py$|_test\.(?:go|py|rb|exs)$/i;
const javaTestName = /(?:Tests?|TestCase|IT)\.(?:java|kt|groovy|scala)$/;
const testFolder =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e|cypress|testdata|fixtures?|__fixtures__|src\/test)(?:[-_][\w-]*)?\//i;

/** Whether a path looks like a test, or like data for one, in any of the usual conventions. */
export function isTestFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return testName.test(name) || javaTestName.test(name) || testFolder.test(path);
}

const prose =
  /\.(?:md|mdx|markdown|rst|adoc|txt|ipynb|example|sample|template|tmpl|dist)$|(?:^|\/)(?:docs?|documentation|examples?|samples?)\//i;

/** Whether a path looks like documentation or an example. */
export function isExample(path: string): boolean {
  return prose.test(path);
}
