// Tests: Engine
package dev.bowline

import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class AgentTest {
    /** A dialogue with the simulated agent as it was in an older version. */
    private fun older(version: String, options: AgentOptions? = null): DialogueConfiguration {
        val plain = configuration(options = options)
        val environment = plain.environment!!
        return plain.copy(environment = environment.copy(set = environment.set + ("UNDERSTUDY_VERSION" to version)))
    }

    @Test
    fun `installed agent is found with its version`() = runTest {
        val found = engine.findAgent()
        assertEquals(understudy, found.path)
        assertTrue(found.versionLine.endsWith("(understudy)"), found.versionLine)
        val capabilities = found.capabilities!!
        assertEquals(2u, capabilities.version.major)
        assertTrue(capabilities.missing.isEmpty() && capabilities.missingText.isEmpty() && !capabilities.isUntested)
        assertThrowsBowline<BowlineException.Start> { engine.findAgent("no-such-agent-anywhere") }
    }

    @Test
    fun `older agent is reported with what it lacks`() = runTest {
        val started = engine.startWithEvents(older("2.1.197"))
        started.session.use { session ->
            session.send("hello").use { it.waitUntilSettled() }
            val batch = started.events.use { it.next(0u, 10_000u, 0u)!! }
            val kinds = batch.events.mapNotNull { (it as? DialogueEventItem.Event)?.event?.kind }
            val agent = kinds.filterIsInstance<DialogueEventKind.OlderAgent>().single().agent
            assertEquals(AgentVersion(2u, 1u, 197u), agent.version)
            assertEquals(listOf(AgentFeature.NESTED_SUBAGENTS), agent.missing)
            assertEquals("content of nested sub-agents (2.1.219)", agent.missingText)
            assertFalse(agent.isUntested)
            assertEquals(agent, session.capabilities())
            assertNull(session.terminate().unknownOption)
        }
    }

    @Test
    fun `refused option is named in the end`() = runTest {
        engine.start(older("2.0.77", AgentOptions(effort = Effort.HIGH))).use { session ->
            val refused = session.waitForEnd().unknownOption!!
            assertEquals("--effort", refused.option)
            assertEquals(AgentVersion(2u, 1u, 100u), refused.added)
            assertTrue("omit the option" in refused.text, refused.text)
        }
    }
}
