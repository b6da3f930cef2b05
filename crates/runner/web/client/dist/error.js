/** An error that the runner reports. */
export class RunnerError extends Error {
    status;
    /** A stable code in capitals, such as `SESSION_NOT_FOUND`; empty if the response has none. */
    code;
    /** What to do next, as text; empty if the response does not say it. */
    next;
    /** The members of the problem document. */
    problem;
    constructor(status, problem) {
        super(text(problem["detail"]) || `the runner answered with status ${status}`);
        this.name = "RunnerError";
        this.status = status;
        this.code = text(problem["code"]);
        this.next = text(problem["next"]);
        this.problem = problem;
    }
    /** Whether a repeated request may succeed: the runner is busy, or is being restarted. */
    get isTemporary() {
        return this.status === 429 || this.status >= 500;
    }
    /** Reads the error from a response. */
    static async of(response) {
        let problem = null;
        try {
            problem = await response.json();
        }
        catch {
            // A proxy may answer with any text.
        }
        return new RunnerError(response.status, isRecord(problem) ? problem : {});
    }
}
function text(value) {
    return typeof value === "string" ? value : "";
}
function isRecord(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
