// Tests: HookServer, HookQuestionStream
package dev.bowline

import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.future.await
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class HookRepliesTest {
    private val client = HttpClient.newHttpClient()

    /** Posts an event as the agent does and returns the answer. */
    private suspend fun post(server: HookServer, kind: String): String {
        val request = HttpRequest.newBuilder(URI(server.url("i1")))
            .header("Authorization", "Bearer ${server.token()}")
            .POST(HttpRequest.BodyPublishers.ofString("""{"hook_event_name":"$kind"}""")).build()
        val answer = client.sendAsync(request, HttpResponse.BodyHandlers.ofString()).await()
        assertEquals(200, answer.statusCode())
        return answer.body()
    }

    private fun specific(kind: String, members: String) =
        """{"hookSpecificOutput":{$members,"hookEventName":"$kind"}}"""

    /** Events, replies of the host, and the answers that the agent receives. */
    private val cases: List<Triple<String, HookReply, String>> = listOf(
        Triple("Stop", HookReply.Nothing, ""),
        Triple(
            "PreToolUse",
            HookReply.Tool(ToolVerdict.ASK, "hm", """{"a":1}""", "it rains"),
            specific(
                "PreToolUse",
                """"permissionDecision":"ask","permissionDecisionReason":"hm","updatedInput":{"a":1},"additionalContext":"it rains"""",
            ),
        ),
        Triple(
            "PreToolUse",
            HookReply.Tool(ToolVerdict.DEFER, null, null, null),
            specific("PreToolUse", """"permissionDecision":"defer""""),
        ),
        Triple(
            "PermissionRequest",
            HookReply.AllowPermission("""{"a":1}""", """[{"type":"setMode"}]"""),
            specific(
                "PermissionRequest",
                """"decision":{"behavior":"allow","updatedInput":{"a":1},"updatedPermissions":[{"type":"setMode"}]}""",
            ),
        ),
        Triple(
            "PermissionRequest",
            HookReply.DenyPermission("no", true),
            specific("PermissionRequest", """"decision":{"behavior":"deny","message":"no","interrupt":true}"""),
        ),
        Triple("Stop", HookReply.Block("go on"), """{"decision":"block","reason":"go on"}"""),
        Triple(
            "UserPromptSubmit",
            HookReply.Context("it rains"),
            specific("UserPromptSubmit", """"additionalContext":"it rains""""),
        ),
        Triple("PostToolUse", HookReply.Halt("enough"), """{"continue":false,"stopReason":"enough"}"""),
        Triple(
            "WorktreeCreate",
            HookReply.Worktree("/srv/tree"),
            specific("WorktreeCreate", """"worktreePath":"/srv/tree""""),
        ),
        Triple(
            "FileChanged",
            HookReply.Watch(listOf("/srv/.env", "/srv/a b")),
            specific("FileChanged", """"watchPaths":["/srv/.env","/srv/a b"]"""),
        ),
        Triple("PermissionDenied", HookReply.Retry, specific("PermissionDenied", """"retry":true""")),
        Triple(
            "Elicitation",
            HookReply.AcceptForm("""{"colour":"red"}"""),
            specific("Elicitation", """"action":"accept","content":{"colour":"red"}"""),
        ),
        Triple("ElicitationResult", HookReply.DeclineForm, specific("ElicitationResult", """"action":"decline"""")),
        Triple("Elicitation", HookReply.CancelForm, specific("Elicitation", """"action":"cancel"""")),
        Triple("Stop", HookReply.Raw("""{"systemMessage":"hi"}"""), """{"systemMessage":"hi"}"""),
    )

    /** Some of the events need a helper. A default that refuses would not be accepted for all of them. */
    private fun gate(deadlineMs: ULong): HookConfiguration {
        val kinds = cases.map { it.first }.distinct()
        val fallback = HookReply.Raw("""{"systemMessage":"no answer"}""")
        return HookConfiguration(kinds = kinds, helper = HookHelper("/bin/true"), gate = HookGate(kinds, deadlineMs, fallback))
    }

    @Test
    fun `each reply is encoded in the agent's format`() = runTest {
        engine.startHooks(gate(30_000u)).use { server ->
            server.questionStream().use { questions ->
                var cursor: ULong = 0u
                suspend fun postAndAnswer(kind: String, answer: suspend (ULong) -> Unit): String {
                    val answered = async(start = CoroutineStart.UNDISPATCHED) { post(server, kind) }
                    val batch = questions.next(cursor, 1u, 0u)!!
                    cursor = batch.cursor
                    val question = batch.events.single()
                    assertEquals(kind, question.event.kind)
                    answer(question.id)
                    return answered.await()
                }
                for ((kind, reply, expected) in cases) {
                    assertEquals(expected, postAndAnswer(kind) { server.answer(it, reply) }, "$reply")
                }
                // Replies that do not fit the event are refused, and the gate's default is sent.
                val invalid = listOf(
                    "Stop" to HookReply.Worktree("/srv/tree"),
                    "WorktreeCreate" to HookReply.Worktree("tree"),
                    "Stop" to HookReply.Watch(listOf("/srv/.env")),
                    "FileChanged" to HookReply.Watch(listOf(".env")),
                    "PreToolUse" to HookReply.Retry,
                    "Stop" to HookReply.DeclineForm,
                    "Stop" to HookReply.CancelForm,
                    "Elicitation" to HookReply.AcceptForm("1"),
                )
                for ((kind, reply) in invalid) {
                    val answer = postAndAnswer(kind) { assertThrowsBowline<BowlineException.Invalid> { server.answer(it, reply) } }
                    assertEquals("""{"systemMessage":"no answer"}""", answer, "$reply")
                }
            }
            server.stop()
        }
    }

    @Test
    fun `closed question completes waitForWithdrawal`() = runTest {
        engine.startHooks(gate(500u)).use { server ->
            server.questionStream().use { questions ->
                val answer = async { post(server, "Stop") }
                val late = questions.next(0u, 1u, 0u)!!.events.single()
                server.waitForWithdrawal(late.id)
                assertTrue("no answer" in answer.await())
                assertThrowsBowline<BowlineException.TooLate> { server.answer(late.id, HookReply.Nothing) }
            }
            server.stop()
        }
        engine.startHooks(gate(30_000u)).use { server ->
            server.questionStream().use { questions ->
                val answer = async { post(server, "Stop") }
                val first = questions.next(0u, 1u, 0u)!!
                val question = first.events.single().id
                val waiting = launch(start = CoroutineStart.UNDISPATCHED) { server.waitForWithdrawal(question) }
                val cancelled = launch(start = CoroutineStart.UNDISPATCHED) { server.waitForWithdrawal(question) }
                cancelled.cancel()
                server.answer(question, HookReply.Nothing)
                waiting.join()
                assertEquals("", answer.await())
            }
            server.stop()
        }
    }

    @Test
    fun `mergeSettings keeps existing hooks`() = runTest {
        engine.startHooks(HookConfiguration(kinds = listOf("Stop"))).use { server ->
            val merged = mergeSettings("""{"model":"x","hooks":{"Stop":[{"hooks":[]}]}}""", server.settings("i1"))
            assertTrue(merged.startsWith("""{"model":"x","hooks":{"Stop":[{"hooks":[]},{"hooks":[{"type":"http""""), merged)
            for (wrong in listOf("[", "[]", """{"hooks":1}""")) {
                assertThrowsBowline<BowlineException.Configuration> { mergeSettings(wrong, server.settings("i1")) }
            }
            server.stop()
        }
    }
}
