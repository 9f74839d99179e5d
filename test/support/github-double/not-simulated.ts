/** GitHub would answer this request, the double cannot. Recorded as a violation, so that no test rests on it. */
export class NotSimulated extends Error {
  constructor(what: string) {
    super(`The double does not simulate ${what}`);
  }
}
