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

    /** Tells an event as the agent does; what it is answered. */
    private suspend fun tell(server: HookServer, kind: String): String {
        val request = HttpRequest.newBuilder(URI(server.url("i1")))
            .header("Authorization", "Bearer ${server.token()}")
            .POST(HttpRequest.BodyPublishers.ofString("""{"hook_event_name":"$kind"}""")).build()
        val answer = client.sendAsync(request, HttpResponse.BodyHandlers.ofString()).await()
        assertEquals(200, answer.statusCode())
        return answer.body()
    }

    private fun specific(kind: String, members: String) =
        """{"hookSpecificOutput":{$members,"hookEventName":"$kind"}}"""

    /** An event, what the host answers, and what the agent is told. */
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

    private fun gate(deadlineMs: ULong) =
        HookConfiguration(gate = HookGate(cases.map { it.first }.distinct(), deadlineMs, HookReply.Halt("nobody")))

    @Test
    fun `every reply comes to the agent as it takes it`() = live {
        engine.startHooks(gate(30_000u)).use { server ->
            server.questions().use { questions ->
                var cursor: ULong = 0u
                suspend fun answered(kind: String, answer: suspend (ULong) -> Unit): String {
                    val told = async(start = CoroutineStart.UNDISPATCHED) { tell(server, kind) }
                    val batch = questions.next(cursor, 1u, 0u)!!
                    cursor = batch.cursor
                    val question = batch.events.single()
                    assertEquals(kind, question.event.kind)
                    answer(question.question)
                    return told.await()
                }
                for ((kind, reply, expected) in cases) {
                    assertEquals(expected, answered(kind) { server.answer(it, reply) }, "$reply")
                }
                // What is no answer to an event is refused, and the gate's own is given.
                val unfit = listOf(
                    "Stop" to HookReply.Worktree("/srv/tree"),
                    "WorktreeCreate" to HookReply.Worktree("tree"),
                    "Stop" to HookReply.Watch(listOf("/srv/.env")),
                    "FileChanged" to HookReply.Watch(listOf(".env")),
                    "PreToolUse" to HookReply.Retry,
                    "Stop" to HookReply.DeclineForm,
                    "Stop" to HookReply.CancelForm,
                    "Elicitation" to HookReply.AcceptForm("1"),
                )
                for ((kind, reply) in unfit) {
                    val told = answered(kind) { refused<BowlineException.Invalid> { server.answer(it, reply) } }
                    assertEquals("""{"continue":false,"stopReason":"nobody"}""", told, "$reply")
                }
            }
            server.stop()
        }
    }

    @Test
    fun `a question that does not wait any more is withdrawn`() = live {
        engine.startHooks(gate(50u)).use { server ->
            server.questions().use { questions ->
                val told = async { tell(server, "Stop") }
                val late = questions.next(0u, 1u, 0u)!!.events.single()
                server.withdrawn(late.question)
                assertTrue("nobody" in told.await())
                refused<BowlineException.TooLate> { server.answer(late.question, HookReply.Nothing) }
            }
            server.stop()
        }
        engine.startHooks(gate(30_000u)).use { server ->
            server.questions().use { questions ->
                val told = async { tell(server, "Stop") }
                val first = questions.next(0u, 1u, 0u)!!
                val question = first.events.single().question
                val waiting = launch(start = CoroutineStart.UNDISPATCHED) { server.withdrawn(question) }
                val given = launch(start = CoroutineStart.UNDISPATCHED) { server.withdrawn(question) }
                given.cancel()
                server.answer(question, HookReply.Nothing)
                waiting.join()
                assertEquals("", told.await())
            }
            server.stop()
        }
    }

    @Test
    fun `hooks go beside the settings that a host has`() = live {
        engine.startHooks(HookConfiguration(kinds = listOf("Stop"))).use { server ->
            val merged = mergeSettings("""{"model":"x","hooks":{"Stop":[{"hooks":[]}]}}""", server.settings("i1"))
            assertTrue(merged.startsWith("""{"model":"x","hooks":{"Stop":[{"hooks":[]},{"hooks":[{"type":"http""""), merged)
            for (wrong in listOf("[", "[]", """{"hooks":1}""")) {
                refused<BowlineException.Configuration> { mergeSettings(wrong, server.settings("i1")) }
            }
            server.stop()
        }
    }
}
