/** GitHub would answer this request, but the double cannot. Recorded as a violation, so that no test depends on it. */
export class NotSimulated extends Error {
  constructor(what: string) {
    super(`The double does not simulate ${what}`);
  }
}
