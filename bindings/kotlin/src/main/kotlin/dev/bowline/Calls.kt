package dev.bowline

/**
 * Sends text as a prompt.
 *
 * @param text the prompt.
 * @param uuid the prompt's UUID; a new one if null.
 * @return a receipt that tracks the prompt.
 * @throws BowlineException as [DialogueSession.send].
 */
public suspend fun DialogueSession.send(text: String, uuid: String? = null): Receipt =
    send(Prompt(listOf(PromptPart.Text(text)), uuid))

/**
 * Waits until the prompt is answered or reaches another final state, and returns that state.
 *
 * Cancelling the coroutine does not affect the prompt.
 */
public suspend fun Receipt.waitUntilSettled(): ReceiptState = waitFor(ReceiptState.ANSWERED)

/**
 * Allows the tool of a permission request.
 *
 * @param requestId the request's id.
 * @param input arguments that replace the model's, a JSON object.
 * @throws BowlineException as [DialogueSession.respond].
 */
public suspend fun DialogueSession.allow(requestId: String, input: String? = null): Unit =
    respond(requestId, PermissionAnswer.Allow(input, null))

/**
 * Denies the tool of a permission request.
 *
 * @param requestId the request's id.
 * @param reason the reason, for the model.
 * @param interrupt whether to end the turn as well.
 * @throws BowlineException as [DialogueSession.respond].
 */
public suspend fun DialogueSession.deny(requestId: String, reason: String, interrupt: Boolean = false): Unit =
    respond(requestId, PermissionAnswer.Deny(reason, interrupt))

/** A description for people: a fragment that reads after "failed to" and ends with what to do next. */
public val BowlineException.reason: String
    get() = when (this) {
        is BowlineException.Start -> reason
        is BowlineException.Configuration -> reason
        is BowlineException.Disconnected -> reason
        is BowlineException.Ended -> reason
        is BowlineException.NotFound -> reason
        is BowlineException.Refused -> reason
        is BowlineException.NoAnswer -> reason
        is BowlineException.TooLate -> reason
        is BowlineException.Invalid -> reason
        is BowlineException.Busy -> reason
        is BowlineException.Resume -> reason
        is BowlineException.Io -> reason
        is BowlineException.Cancelled -> reason
        is BowlineException.Host -> reason
        is BowlineException.Internal -> reason
    }
