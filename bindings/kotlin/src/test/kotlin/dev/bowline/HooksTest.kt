// Tests: HookServer, HookStream, HookQuestionStream
package dev.bowline

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class HooksTest {
    private val gate = HookGate(listOf("PreToolUse"), 30_000u, HookReply.Nothing)

    private fun hooked(server: HookServer): DialogueConfiguration {
        val options = AgentOptions(settings = AgentDocument.Private(server.settings("i1")))
        val plain = configuration(options = options)
        val environment = plain.environment!!
        return plain.copy(environment = environment.copy(set = environment.set + server.environment("i1")))
    }

    @Test
    fun `a hook is told and its question answered`() = live {
        assertTrue("PreToolUse" in commonHookKinds())
        engine.startHooks(HookConfiguration(gate = gate)).use { server ->
            assertTrue(server.url("i1").startsWith("http://127.0.0.1:"))
            assertTrue(server.token().length >= 32)
            refused<BowlineException.Invalid> { server.url("../x") }
            val told = async(start = CoroutineStart.UNDISPATCHED) { server.happenings().first { it is HookNews.Event && it.event.kind == "PostToolUse" } }
            val questions = server.questions()
            refused<BowlineException.Busy> { server.questions() }
            session(hooked(server)) { session ->
                session.say("/tool ls")
                val asked = questions.next(0u, 1u, 0u)!!
                assertEquals("PreToolUse", asked.events.single().event.kind)
                val question = asked.events.single().question
                refused<BowlineException.Invalid> { server.answer(question, HookReply.Raw("[")) }
                refused<BowlineException.Invalid> { server.answer(question, HookReply.AcceptForm("[")) }
                server.answer(question, HookReply.Tool(ToolVerdict.ALLOW, null, null, null))
                refused<BowlineException.NotFound> { server.answer(question, HookReply.Nothing) }
                session.until { it.results().isNotEmpty() }
                told.await()
                session.say("/tool rm")
                val denied = questions.next(asked.cursor, 1u, 0u)!!.events.single()
                server.answer(denied.question, HookReply.Tool(ToolVerdict.DENY, "no", null, null))
                val transcript = session.until { it.results().size == 2 }
                assertEquals(CallState.FAILED, transcript.toolCalls().last().state)
            }
            questions.stop()
            questions.use { assertNull(it.next(0u, 1u, 0u)) }
            server.events().use { events ->
                events.stop()
                assertNull(events.next(0u, 1u, 0u))
            }
            assertTrue(server.report().events > 0u)
            assertTrue(server.stop().events > 0u)
            refused<BowlineException.Ended> { server.report() }
            refused<BowlineException.Ended> { server.stop() }
        }
    }

    @Test
    fun `a server that cannot be had is refused`() = live {
        refused<BowlineException.Configuration> {
            engine.startHooks(HookConfiguration(variables = HookVariables(token = "no name")))
        }
        refused<BowlineException.Configuration> {
            engine.startHooks(HookConfiguration(gate = HookGate(listOf("Stop"), 1u, HookReply.Tool(ToolVerdict.ASK, null, null, null))))
        }
    }
}
